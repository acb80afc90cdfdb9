#include "collectives/cost_model.h"

#include <algorithm>
#include <span>

#include "collectives/geometry.h"
#include "collectives/schedules/exchange.h"

namespace thinwire::collectives {
namespace {

// Steps of one kind, of one tile. Pieces are those of the vector, one a rank.
struct Phase {
  int steps = 0;
  int level = 0;            // of the step's slowest message
  double messages = 1;      // that a rank sends in a step
  double taken = 0;         // messages that a rank receives in a step; 0: as many
  double pieces = 1;        // that a rank sends in a step
  double nic_pieces = 0;    // that all ranks of a host send to other hosts in a step
  double local_pieces = 0;  // that a rank sends within its host in a step
  double begun = 0;         // sums that a rank begins in a step, with its own contribution
  double loaded = 0;        // such sums that begin with another rank's contribution
  bool sums = false;        // what arrives is added; else it is passed on or kept
  bool encodes = true;      // what is sent is encoded for it
  bool fans_in = false;     // several senders meet at one receiver's link
  bool mixes = false;       // now and then, since tiles are at different steps
  bool overlaps = false;    // with the next phase, piece by piece
  double own = 0;           // no messages: pieces of its own that a rank finishes in between
};

// More than the deepest tree and the grid of most sides have, there and back.
class Phases {
 public:
  void push_back(const Phase& phase) { all_[count_++] = phase; }
  std::size_t size() const { return count_; }
  Phase& operator[](std::size_t index) { return all_[index]; }
  const Phase* begin() const { return all_.data(); }
  const Phase* end() const { return all_.data() + count_; }

 private:
  std::array<Phase, 72> all_;
  std::size_t count_ = 0;
};

class Schedule {
 public:
  Schedule(const Shape& shape, double filled_pieces) : shape_(shape), filled_(filled_pieces) {}

  const Phases& phases(ScheduleKind kind, std::span<const int> grid) {
    switch (kind) {
      case ScheduleKind::ring:
        ring();
        break;
      case ScheduleKind::direct:
        direct();
        break;
      case ScheduleKind::exchange:
        if (shape_.ranks <= kMaxExchangeRanks) return exchange();
        direct();
        break;
      case ScheduleKind::grid:
        rows(grid, shape_.ranks, shape_.ranks_per_host);
        break;
      case ScheduleKind::tree:
        tree();
        break;
      default:
        hierarchical(kind, grid);
        break;
    }
    mirror();
    return phases_;
  }

 private:
  double far_ranks() const { return shape_.ranks - shape_.ranks_per_host; }
  int beyond() const { return shape_.hosts > 1 ? shape_.widest : kWithinHost; }
  double outside(double messages) const { return shape_.hosts > 1 ? messages : 0; }

  // The sums take the same way back, and are encoded once, by their owners.
  void mirror() {
    const std::size_t there = phases_.size();
    phases_.push_back({.steps = 1, .own = 1});
    for (std::size_t i = there; i-- > 0;) {
      Phase back = phases_[i];
      back.begun = back.loaded = 0;
      back.sums = false;
      back.encodes = false;
      phases_.push_back(back);
    }
  }

  // Between hosts goes one of as many hops as a host has ranks; each link is used in all of them.
  void ring() {
    const int hops = shape_.ranks - 1;
    const int far = shape_.hosts > 1 ? std::min(hops, shape_.hosts) : 0;
    const double share = std::min(1.0, filled_ / hops);
    Phase phase{.pieces = share,
                .nic_pieces = outside(share),
                .local_pieces = share,
                .begun = share,
                .sums = true};
    phase.steps = far;
    phase.level = beyond();
    if (far > 0) phases_.push_back(phase);
    phase.steps = hops - far;
    phase.level = kWithinHost;
    if (phase.steps > 0) phases_.push_back(phase);
  }

  // A short vector's pieces all meet at a few owners.
  void direct() {
    const double others = shape_.ranks - 1;
    const double far = far_ranks();
    phases_.push_back({.steps = 1,
                       .level = beyond(),
                       .messages = std::min(others, filled_),
                       .taken = others,
                       .pieces = others,
                       .nic_pieces = std::min<double>(shape_.ranks_per_host, filled_) * far,
                       .local_pieces = others - far,
                       .begun = 1,
                       .loaded = 1,
                       .sums = true,
                       .fans_in = others > 1});
  }

  const Phases& exchange() {
    direct();
    Phase& phase = phases_[0];
    phase.messages = phase.taken *= filled_;
    phase.pieces *= filled_;
    phase.nic_pieces = shape_.ranks_per_host * far_ranks() * filled_;
    phase.local_pieces *= filled_;
    phase.begun = phase.loaded = 0;
    phase.encodes = false;  // once, for all
    phases_.push_back({.steps = 1, .own = filled_});
    return phases_;
  }

  // Halving: half of what is left at distance 1, then 2, 4, ... Where distances are shorter than a
  // host has ranks, as many of them as the distance send to the next host.
  void tree() {
    double left = filled_;
    for (int distance = 1; distance < shape_.ranks; distance *= 2) {
      const double pieces = std::max(1.0, left / 2);
      left /= 2;
      const int leaving = shape_.hosts > 1 ? std::min(distance, shape_.ranks_per_host) : 0;
      phases_.push_back({.steps = 1,
                         .level = beyond(),
                         .messages = pieces,
                         .pieces = pieces,
                         .nic_pieces = pieces * leaving,
                         .local_pieces = leaving < shape_.ranks_per_host ? pieces : 0,
                         .begun = distance == 1 ? pieces : 0,
                         .sums = true,
                         .mixes = shape_.ranks > 2});
    }
  }

  // Rings along each side, innermost first. Neighbours are `stride` nodes apart; `on_host` nodes
  // that follow one another share a host.
  void rows(std::span<const int> grid, int nodes, int on_host) {
    std::array<int, 2> square{1, 1};
    while (square[1] * square[1] < nodes) ++square[1];
    square[0] = (nodes + square[1] - 1) / square[1];
    const std::span<const int> sides = grid.empty() ? std::span<const int>(square) : grid;
    double pieces = filled_;
    int stride = 1;
    for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
      pieces = std::max(1.0, pieces / *side);
      const double share = std::min(pieces, filled_);
      if (*side > 1) {
        const bool inside = shape_.hosts == 1 || stride * *side <= on_host;
        const int leaving = std::min(stride, on_host);
        phases_.push_back({.steps = *side - 1,
                           .level = inside ? kWithinHost : beyond(),
                           .messages = share,
                           .pieces = share,
                           .nic_pieces = inside ? 0 : share * leaving,
                           .local_pieces = leaving < on_host ? share : 0,
                           .begun = stride == 1 ? share : 0,
                           .sums = true,
                           .mixes = *side < nodes});
      }
      stride *= *side;
    }
  }

  void hierarchical(ScheduleKind kind, std::span<const int> grid) {
    const int local = shape_.ranks_per_host;
    if (local > 1) {
      const double pieces = std::max(1.0, filled_ * (local - 1) / local);
      phases_.push_back({.steps = 1,
                         .level = kWithinHost,
                         .messages = pieces,
                         .pieces = pieces,
                         .local_pieces = pieces,
                         .begun = std::max(1.0, filled_ / local),
                         .sums = true,
                         .overlaps = filled_ > local && shape_.hosts > 1});
    }
    if (shape_.hosts == 1) return;
    // One ring, grid or direct exchange a rail: its nodes are hosts.
    const Shape rail{shape_.hosts, shape_.hosts, 1, shape_.widest};
    Schedule inner(rail, std::max(1.0, filled_ / local));
    if (kind == ScheduleKind::hierarchical_ring) inner.ring();
    if (kind == ScheduleKind::hierarchical_direct) inner.direct();
    if (kind == ScheduleKind::hierarchical_grid) inner.rows(grid, shape_.hosts, 1);
    const double rails = std::min<double>(local, filled_);
    for (Phase phase : inner.phases_) {
      phase.nic_pieces *= rails;
      phase.local_pieces = 0;
      if (local > 1) phase.begun = 0;
      if (local > 1) phase.mixes = false;  // rails do in every schedule
      phases_.push_back(phase);
    }
  }

  const Shape& shape_;
  const double filled_;
  Phases phases_;
};

constexpr double kPerGbyte = 1e-9;
constexpr double kPerMicrosecond = 1e-6;
// What part of fan_in it costs that tiles are at different steps, and so come from several senders.
constexpr double kMixing = 0.25;
// How far few tiles stay together, so that they crowd one resource after another: by the simulator.
constexpr double kCrowding = 0.75;
// How much longer a thread takes that adds what many send: in rank order, whoever is first.
constexpr double kInOrder = 1.1;
// Within a host a rank's sums are complete one after another, and go on at once.
constexpr double kOverlap = 0.5;

// What a thread takes for bytes of elements, as the Engine's steps have it (compiled_plan.h).
class Thread {
 public:
  Thread(const Task& task, const CostConstants& costs, int level)
      : arithmetic_(task.arithmetic),
        copy_s_(kPerGbyte / costs.copy_gbytes_per_s),
        add_s_(kPerGbyte / costs.reduce_gbytes_per_s) {
    const compression::CodecSpec& codec = task.codecs[static_cast<std::size_t>(level)];
    const CodecCost& speed = costs.codecs[static_cast<std::size_t>(codec.id)];
    const bool coded = codec.id != compression::CodecId::none;
    encode_s_ = coded ? kPerGbyte / speed.encode_gbytes_per_s : copy_s_;
    decode_s_ = coded ? kPerGbyte / speed.decode_gbytes_per_s : copy_s_;
  }

  // Of a piece that arrives, and of one that is sent for it.
  double moved_s(const Phase& phase) const {
    if (!is_lossy(arithmetic_)) return phase.sums ? add_s_ : 0;
    return decode_s_ + (phase.encodes ? encode_s_ : 0);
  }
  // Of the own contribution to a sum.
  double begun_s() const {
    if (is_lossy(arithmetic_)) return add_s_;
    return arithmetic_ == Arithmetic::native ? 0 : 2 * copy_s_;
  }
  double loaded_s() const { return arithmetic_ == Arithmetic::native ? copy_s_ : 0; }
  // Of the piece that a rank owns; where it owns all of them, it has not begun them elsewhere.
  double own_s(bool all) const {
    if (is_lossy(arithmetic_)) return encode_s_ + decode_s_ + (all ? copy_s_ : 0);
    if (all) return 2 * copy_s_;
    return arithmetic_ == Arithmetic::native ? copy_s_ : 0;
  }

 private:
  const Arithmetic arithmetic_;
  const double copy_s_;
  const double add_s_;
  double encode_s_ = 0;
  double decode_s_ = 0;
};

// What a tile takes of something that works on one message at a time: a link or a thread.
class Resource {
 public:
  // `occupied_s` of the `took_s` that each of these steps took.
  void use(int steps, double occupied_s, double took_s) {
    if (occupied_s == 0) {
      elsewhere_s_ += steps * took_s;
      return;
    }
    tile_s_ += steps * occupied_s;
    idle_s_ += steps * (took_s - occupied_s);
    steps_ += steps;
  }
  double tile_s() const { return tile_s_; }
  // It waits for the first tile to come, is then kept busy by one or another, and at the end waits
  // for the last one to go.
  double total_s(double tiles) const {
    return steps_ == 0 ? 0 : elsewhere_s_ + tiles * tile_s_ + idle_s_ / steps_;
  }

 private:
  double tile_s_ = 0;
  double idle_s_ = 0;
  double elsewhere_s_ = 0;
  int steps_ = 0;
};

// One step of one tile.
struct StepCost {
  double latency_s = 0;
  double nic_s = 0;
  double local_s = 0;
  double thread_s = 0;
  double total_s = 0;
};

StepCost cost_of(const Phase& phase, double tile_bytes, const Shape& shape, const Task& task,
                 const CostConstants& costs) {
  const auto level = static_cast<std::size_t>(phase.level);
  const auto outside = static_cast<std::size_t>(std::max(shape.widest, kBetweenHosts));
  const double element = is_lossy(task.arithmetic)
                             ? wire_bytes_per_element(task.codecs[level], task.element_bytes)
                             : task.element_bytes;
  const double wire_gbytes = tile_bytes * element / task.element_bytes * kPerGbyte;
  const double taken = phase.taken == 0 ? phase.messages : phase.taken;
  StepCost cost;
  if (phase.own > 0) {
    const Thread thread(task, costs, shape.widest);
    cost.total_s = cost.thread_s = phase.own * tile_bytes * thread.own_s(phase.own > 1);
    return cost;
  }
  const Thread thread(task, costs, phase.level);
  cost.latency_s = costs.links[level].latency_us * kPerMicrosecond;
  const double fans = phase.fans_in ? 1 : phase.mixes ? kMixing : 0;
  cost.nic_s = phase.nic_pieces * wire_gbytes * (1 + fans * (costs.fan_in - 1)) /
               costs.links[outside].gbytes_per_s;
  cost.local_s = phase.local_pieces * wire_gbytes / costs.links[kWithinHost].gbytes_per_s;
  cost.thread_s = (phase.messages + taken) * costs.message_us * kPerMicrosecond +
                  tile_bytes * (phase.pieces * thread.moved_s(phase) +
                                phase.begun * thread.begun_s() + phase.loaded * thread.loaded_s());
  if (phase.fans_in && phase.sums && !is_lossy(task.arithmetic)) cost.thread_s *= kInOrder;
  // Of several messages one can be worked on while the next one travels, and while one rank's
  // message travels the link serves the other ranks of the host.
  const double sharers = std::max(1.0, phase.nic_pieces / phase.pieces);
  const double alone = phase.level == kWithinHost ? cost.local_s : cost.nic_s / sharers;
  // Neither does a latency count that passes while more is sent.
  const double sending_s = (phase.messages - 1) * costs.message_us * kPerMicrosecond;
  const double waiting_s = std::max(0.0, cost.latency_s - std::max(0.0, sending_s));
  cost.total_s = std::max({cost.nic_s, cost.latency_s + alone, waiting_s + cost.thread_s}) +
                 std::min(alone, cost.thread_s) / std::max(1.0, taken);
  if (phase.overlaps) cost.total_s -= kOverlap * alone;
  return cost;
}

}  // namespace

Shape shape_of(const Layout& layout) {
  return {layout.ranks(), layout.hosts(), layout.largest_host, layout.widest};
}

Prediction predict(ScheduleKind kind, const Shape& shape, const Task& task,
                   const CostConstants& costs) {
  Prediction result;
  if (shape.ranks == 1) return result;
  const double block = static_cast<double>(kBlockElements) * task.element_bytes;
  const double filled = std::clamp(task.bytes / block, 1.0, static_cast<double>(shape.ranks));
  const double piece = task.bytes / filled;
  const double tile = std::min(piece, task.piece_bytes);
  const double tiles = piece / tile;
  double way_s = 0;
  double crowded_s = 0;
  Resource nic;
  Resource local;
  Resource thread;
  Schedule schedule(shape, filled);
  for (const Phase& phase : schedule.phases(kind, task.grid)) {
    const StepCost cost = cost_of(phase, tile, shape, task, costs);
    nic.use(phase.steps, cost.nic_s, cost.total_s);
    local.use(phase.steps, cost.local_s, cost.total_s);
    thread.use(phase.steps, cost.thread_s, cost.total_s);
    way_s += phase.steps * cost.total_s;
    crowded_s += phase.steps * tiles * std::max({cost.nic_s, cost.local_s, cost.thread_s});
    result.latency_s += phase.steps * cost.latency_s;
    result.steps += phase.own > 0 ? 0 : phase.steps;
  }
  result.link_s = std::max(nic.tile_s(), local.tile_s()) * tiles;
  result.thread_s = thread.tile_s() * tiles;
  const double flowing_s =
      std::max({nic.total_s(tiles), local.total_s(tiles), thread.total_s(tiles)});
  const double together = kCrowding * result.steps / (result.steps + 4 * tiles);
  result.seconds = std::max(way_s, flowing_s + together * std::max(0.0, crowded_s - flowing_s));
  return result;
}

}  // namespace thinwire::collectives
