#include "tests/collectives/reference.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

#include "collectives/geometry.h"
#include "collectives/staging.h"
#include "compression/exact_frame.h"
#include "compression/reduce.h"

namespace thinwire::collectives::testing {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

struct RankState {
  Plan plan;
  std::vector<bool> done;
  std::map<int, Bytes> wire;
  std::map<int, Bytes> acc;
};

// All ranks' Plans over one tile.
class TileReference {
 public:
  TileReference(const Problem& problem, const EngineOptions& options, std::size_t tile,
                std::vector<Bytes>& outputs)
      : problem_(problem),
        offsets_(problem.offsets()),
        element_(element_bytes(problem.type)),
        accumulator_(element_bytes(accumulator_type(problem.type))),
        set_(options.policy, options.compress_min_bytes, layout_of(options, problem.ranks())),
        codecs_(
            set_.choose(problem.collective, problem.type, problem.op, offsets_.back() * element_)),
        arithmetic_(
            choose_arithmetic(problem.collective, problem.type, problem.ranks(), codecs_.lossy())),
        topk_without_(options.feedback.topk_without),
        choice_(choose(options, layout_of(options, problem.ranks()), arithmetic_,
                       offsets_.back() * element_)),
        tile_elements_(tile_elements(
            bounded_piece_bytes(choice_, layout_of(options, problem.ranks()), codecs_.sparse()),
            problem.type)),
        tile_(tile),
        outputs_(outputs) {
    const Layout layout = layout_of(options, problem.ranks());
    for (int rank = 0; rank < problem.ranks(); ++rank) {
      RankState state;
      state.plan =
          make_plan(choice_.schedule, problem.collective, rank, layout, grid_of(options, layout));
      state.done.resize(state.plan.steps.size());
      ranks_.push_back(std::move(state));
    }
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        for (std::size_t i = 0; i < ranks_[rank].plan.steps.size(); ++i) {
          if (ranks_[rank].done[i] || !may_run(rank, ranks_[rank].plan.steps[i])) continue;
          run_step(rank, ranks_[rank].plan.steps[i]);
          ranks_[rank].done[i] = moved = true;
        }
      }
    }
  }

 private:
  bool may_run(std::size_t rank, const Step& step) const {
    for (const StepIndex dependency : ranks_[rank].plan.dependencies_of(step)) {
      if (!ranks_[rank].done[at(dependency)]) return false;
    }
    return step.kind != StepKind::receive ||
           messages_.contains({step.peer, static_cast<int>(rank), step.message});
  }

  Range range(const Step& step) const {
    return tile_range(offsets_, at(step.piece), tile_, tile_elements_);
  }
  const std::byte* input(std::size_t rank, const Step& step) const {
    const std::size_t start = problem_.collective == Collective::all_gather ? offsets_[rank] : 0;
    return problem_.inputs[rank].data() + (range(step).first - start) * element_;
  }
  std::byte* output(std::size_t rank, const Step& step) const {
    const std::size_t start =
        problem_.collective == Collective::reduce_scatter ? offsets_[rank] : 0;
    return outputs_[rank].data() + (range(step).first - start) * element_;
  }

  Bytes encode(const Step& step, const void* elements, DataType type, std::size_t count) const {
    const compression::Codec* codec = &codecs_.at(step.level);
    if (may_fall_back(*codec) && !topk_without_) codec = &compression::exact_frames();
    Bytes wire(codec->max_encoded_bytes(count, type));
    wire.resize(codec->encode(elements, type, count, wire.data()));
    return wire;
  }

  void decode(const Step& step, const Bytes& wire, DataType type, std::size_t count,
              void* to) const {
    const auto codec = CodecSet::of_frame(codecs_.at(step.level), wire.data(), wire.size());
    if (!codec.ok()) std::abort();
    ok(codec.value()->decode(wire.data(), wire.size(), type, count, to));
  }

  void run_step(std::size_t rank, const Step& step) {
    if (range(step).count == 0) {
      if (step.kind == StepKind::send) send(rank, step);
      return;
    }
    RankState& state = ranks_[rank];
    switch (step.kind) {
      case StepKind::send:
        return send(rank, step);
      case StepKind::receive:
        state.wire[step.wire] = messages_.at({step.peer, static_cast<int>(rank), step.message});
        return;
      case StepKind::copy_input:
        std::memcpy(output(rank, step), input(rank, step), range(step).count * element_);
        return;
      case StepKind::encode_input:
      case StepKind::encode_acc:
      case StepKind::decode:
        return convert(rank, step);
      default:
        return accumulate(rank, step);
    }
  }

  void send(std::size_t rank, const Step& step) {
    messages_[{static_cast<int>(rank), step.peer, step.message}] = ranks_[rank].wire[step.wire];
  }

  void convert(std::size_t rank, const Step& step) {
    const std::size_t count = range(step).count;
    Bytes& wire = ranks_[rank].wire[step.wire];
    const bool lossy = is_lossy(arithmetic_);
    if (step.kind == StepKind::decode) {
      if (!lossy) {
        std::memcpy(output(rank, step), wire.data(), count * element_);
      } else {
        decode(step, wire, problem_.type, count, output(rank, step));
      }
    } else if (step.kind == StepKind::encode_input) {
      const std::byte* from = input(rank, step);
      wire =
          lossy ? encode(step, from, problem_.type, count) : Bytes(from, from + count * element_);
    } else if (lossy) {
      wire = encode(step, ranks_[rank].acc[step.acc].data(), DataType::float32, count);
    } else {
      wire.resize(count * element_);
      compression::store(problem_.type, ranks_[rank].acc[step.acc].data(), wire.data(), count);
    }
  }

  void accumulate(std::size_t rank, const Step& step) {
    const std::size_t count = range(step).count;
    Bytes& acc = ranks_[rank].acc[step.acc];
    acc.resize(count * accumulator_);
    if (step.kind == StepKind::store_acc) {
      compression::store(problem_.type, acc.data(), output(rank, step), count);
      return;
    }
    const bool wire = step.kind == StepKind::load_wire || step.kind == StepKind::add_wire;
    Bytes decoded;
    const std::byte* from = wire ? ranks_[rank].wire[step.wire].data() : input(rank, step);
    DataType type = problem_.type;
    if (wire && is_lossy(arithmetic_)) {
      type = DataType::float32;
      decoded.resize(count * sizeof(float));
      decode(step, ranks_[rank].wire[step.wire], type, count, decoded.data());
      from = decoded.data();
    }
    const bool load = step.kind == StepKind::load_wire || step.kind == StepKind::load_input;
    if (load) {
      compression::load(type, from, acc.data(), count);
    } else {
      compression::reduce(type, problem_.op, from, acc.data(), count);
    }
  }

  static void ok(const Status& status) {
    if (!status.ok()) std::abort();
  }

  const Problem& problem_;
  const std::vector<std::size_t> offsets_;
  const std::size_t element_;
  const std::size_t accumulator_;
  const CodecSet set_;
  const LevelCodecs codecs_;
  const Arithmetic arithmetic_;
  const bool topk_without_;
  const Choice choice_;
  const std::size_t tile_elements_;
  const std::size_t tile_;
  std::vector<Bytes>& outputs_;
  std::vector<RankState> ranks_;
  std::map<std::tuple<int, int, int>, Bytes> messages_;
};

bool is_float(DataType type) {
  return type == DataType::float64 || type == DataType::float32 ||
         accumulator_type(type) == DataType::float32;
}

}  // namespace

std::vector<std::size_t> Problem::offsets() const {
  std::vector<std::size_t> result(inputs.size() + 1);
  if (collective == Collective::all_reduce) {
    split_evenly(count, result);
  } else {
    split_as(piece_counts, result);
  }
  return result;
}

std::size_t Problem::input_elements(int rank) const {
  return collective == Collective::all_gather ? piece_counts[at(rank)] : offsets().back();
}

std::size_t Problem::output_elements(int rank) const {
  return collective == Collective::reduce_scatter ? piece_counts[at(rank)] : offsets().back();
}

void fill_inputs(Problem& problem, int ranks, std::uint64_t seed) {
  problem.inputs.resize(static_cast<std::size_t>(ranks));
  std::mt19937_64 random(seed);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t count = problem.input_elements(rank);
    Bytes& bytes = problem.inputs[at(rank)];
    bytes.resize(count * element_bytes(problem.type));
    if (!is_float(problem.type)) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      continue;
    }
    std::normal_distribution<double> normal;
    std::vector<double> wide(count);
    for (double& value : wide) value = normal(random);
    if (problem.type == DataType::float64) {
      if (count > 0) std::memcpy(bytes.data(), wide.data(), bytes.size());
      continue;
    }
    const std::vector<float> narrow(wide.begin(), wide.end());
    compression::store(problem.type, narrow.data(), bytes.data(), count);
  }
}

std::vector<Bytes> reference_outputs(const Problem& problem, const EngineOptions& options) {
  std::vector<Bytes> outputs;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    outputs.emplace_back(problem.output_elements(rank) * element_bytes(problem.type));
  }
  const Layout layout = layout_of(options, problem.ranks());
  const CodecSet codecs(options.policy, options.compress_min_bytes, layout);
  const std::size_t bytes = problem.offsets().back() * element_bytes(problem.type);
  const LevelCodecs levels = codecs.choose(problem.collective, problem.type, problem.op, bytes);
  const Arithmetic arithmetic =
      choose_arithmetic(problem.collective, problem.type, problem.ranks(), levels.lossy());
  const Choice choice = choose(options, layout, arithmetic, bytes);
  const std::size_t elements =
      tile_elements(bounded_piece_bytes(choice, layout, levels.sparse()), problem.type);
  const std::size_t tiles = tile_count(problem.offsets(), elements);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    TileReference(problem, options, tile, outputs).run();
  }
  return outputs;
}

namespace {

template <class T>
std::vector<double> widen(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<double> to_doubles(DataType type, const Bytes& bytes) {
  switch (type) {
    case DataType::int8:
      return widen<std::int8_t>(bytes);
    case DataType::uint8:
      return widen<std::uint8_t>(bytes);
    case DataType::int32:
      return widen<std::int32_t>(bytes);
    case DataType::uint32:
      return widen<std::uint32_t>(bytes);
    case DataType::int64:
      return widen<std::int64_t>(bytes);
    case DataType::uint64:
      return widen<std::uint64_t>(bytes);
    case DataType::float32:
      return widen<float>(bytes);
    case DataType::float64:
      return widen<double>(bytes);
    default:
      break;
  }
  std::vector<float> values(bytes.size() / element_bytes(type));
  compression::load(type, bytes.data(), values.data(), values.size());
  return {values.begin(), values.end()};
}

}  // namespace thinwire::collectives::testing
