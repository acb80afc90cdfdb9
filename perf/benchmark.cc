#include "perf/benchmark.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace thinwire::perf {
namespace {

constexpr int kReferenceRounds = 4;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t buffer_bytes(const Options& options, const Runner& runner) {
  std::size_t largest = 0;
  for (const std::size_t size : sizes_of(options)) {
    largest = std::max(largest, size * static_cast<std::size_t>(runner.copies(size)));
  }
  return largest + runner.tail_bytes();
}

Verdict worse_of(Verdict a, const Verdict& b) {
  if (a.first_wrong.empty()) a.first_wrong = b.first_wrong;
  a.wrong += b.wrong;
  a.lossy |= b.lossy;
  a.max_error = std::max(a.max_error, b.max_error);
  a.rms_error = std::max(a.rms_error, b.rms_error);
  a.hash = b.hash;
  return a;
}

// A Verdict as it travels: the numbers, then the text.
struct VerdictNumbers {
  std::int64_t wrong;
  double max_error;
  double rms_error;
  std::uint64_t hash;
};

std::string pack_verdict(const Verdict& verdict) {
  const VerdictNumbers numbers{verdict.wrong, verdict.max_error, verdict.rms_error, verdict.hash};
  return std::string(reinterpret_cast<const char*>(&numbers), sizeof numbers) + verdict.first_wrong;
}

VerdictNumbers unpack_numbers(const std::string& text) {
  VerdictNumbers numbers{};
  std::memcpy(&numbers, text.data(), std::min(sizeof numbers, text.size()));
  return numbers;
}

}  // namespace

int iterations_between_refills(DataType type, PerfOp op, int ranks) {
  const bool grows = op == PerfOp::sum || op == PerfOp::prod;
  if (!is_float(type) || !grows || ranks < 2) return 1 << 30;
  if (op == PerfOp::prod) return 1;
  const int spare_exponents = type == DataType::float16       ? 8
                              : type == DataType::float8_e4m3 ? 2
                              : type == DataType::float8_e5m2 ? 8
                                                              : 100;
  return std::max(1, static_cast<int>(spare_exponents / std::log2(ranks)));
}

Benchmark::Benchmark(const Options& options, Session& session, Runner& runner, PlainFlow* reference,
                     bool lossy, double lossy_bound)
    : options_(options),
      session_(session),
      runner_(runner),
      reference_(reference),
      lossy_(lossy),
      lossy_bound_(lossy_bound),
      traffic_(runner, session),
      send_(buffer_bytes(options, runner)),
      recv_(buffer_bytes(options, runner)) {
  session_.agree([&] { runner_.attach(send_, recv_); });
}

Benchmark::Case Benchmark::make_case(std::size_t bytes, DataType type, PerfOp op,
                                     bool in_place) const {
  Case c;
  const std::size_t rank = static_cast<std::size_t>(session_.rank());
  c.in_place = in_place;
  c.work = {options_.collective,
            type,
            op,
            shape_of(options_.collective, bytes, type, session_.ranks()),
            send_.data(),
            recv_.data()};
  if (in_place) {
    c.work.send = recv_.data();
    if (options_.collective == Collective::all_gather) c.work.send += rank * c.work.send_bytes();
    if (options_.collective == Collective::reduce_scatter) {
      c.work.recv += rank * c.work.recv_bytes();
    }
  }
  c.copies = runner_.copies(c.work.send_bytes());
  c.payload = {options_.collective, type, op, session_.ranks(), false, 1, c.work.shape, 0};
  if (options_.collective == Collective::send_recv) {
    const int ranks = session_.ranks();
    c.payload.source = options_.pattern == Pattern::ring ? (session_.rank() + ranks - 1) % ranks
                                                         : session_.rank() ^ 1;
  }
  c.payload.lossy_bound = lossy_bound_;
  c.payload.gaussian = lossy_ && gaussian_makes_sense(c.payload);
  return c;
}

// Even ranks only send, odd ones only receive.
bool Benchmark::one_way() const {
  return options_.collective == Collective::send_recv && options_.pattern == Pattern::pair;
}

std::vector<Row> Benchmark::run(const std::function<void(const Row&)>& on_row) {
  std::vector<Row> rows;
  const bool has_op = reduces(options_.collective);
  for (const DataType type : options_.types) {
    for (const PerfOp op : options_.ops) {
      warm_up(type, op);
      for (const std::size_t bytes : sizes_of(options_)) {
        if (const auto row = run_row(bytes, type, op)) {
          rows.push_back(*row);
          on_row(*row);
        }
      }
      if (!has_op) break;
    }
  }
  return rows;
}

// Once for the largest and once for the smallest size, as nccl-tests does.
void Benchmark::warm_up(DataType type, PerfOp op) {
  const std::vector<std::size_t> sizes = sizes_of(options_);
  for (const std::size_t bytes : {sizes.back(), sizes.front()}) {
    const Case c = make_case(bytes, type, op, false);
    if (options_.warmup == 0 || !runner_.supports(c.work)) return;
    fill(c);
    runner_.begin(c.work);
    runner_.run(options_.warmup);
    session_.barrier();
  }
}

std::optional<Row> Benchmark::run_row(std::size_t bytes, DataType type, PerfOp op) {
  Case c = make_case(bytes, type, op, false);
  if (!runner_.supports(c.work)) return std::nullopt;
  Row row;
  row.bytes = reported_bytes(c.work.shape, type);
  row.count = c.work.shape.call_count;
  row.type = type;
  row.op = op;
  row.has_op = reduces(options_.collective);
  row.out_of_place = measure(c);
  if (runner_.has_in_place()) {
    c = make_case(bytes, type, op, true);
    row.in_place = measure(c);
  }
  return row;
}

Measurement Benchmark::measure(Case& c) {
  Measurement m;
  runner_.begin(c.work);
  c.payload.seed = 1;
  time(c, m);
  for (int round = 0; round < options_.check; ++round) {
    c.payload.seed = static_cast<std::uint64_t>(round) + 2;
    check(c, m);
  }
  return m;
}

void Benchmark::fill(const Case& c) {
  const std::size_t send_bytes = c.work.send_bytes();
  const std::size_t recv_bytes = c.work.recv_bytes() * static_cast<std::size_t>(c.copies);
  if (!c.in_place) std::memset(c.work.recv, 0, recv_bytes);
  for (int copy = 0; copy < c.copies; ++copy) {
    fill_send(c.payload, session_.rank(), 0, c.work.shape.send_count,
              c.work.send + static_cast<std::size_t>(copy) * send_bytes);
  }
  if (options_.poison && options_.collective == Collective::all_reduce) {
    fill_poison(c.work.send + send_bytes, runner_.tail_bytes());
  }
  runner_.upload(c.work);
}

void Benchmark::time(const Case& c, Measurement& m) {
  const int refill = c.in_place
                         ? iterations_between_refills(c.work.type, c.work.op, session_.ranks())
                         : options_.iterations;
  fill(c);
  // What learns from one call to the next has to meet these very buffers before.
  runner_.run(std::clamp(options_.warmup, 1, refill));
  if (c.in_place) fill(c);
  const int rounds = reference_ != nullptr ? kReferenceRounds : 1;
  const int per_round = std::min(refill, (options_.iterations + rounds - 1) / rounds);
  double seconds = 0;
  double reference_seconds = 0;
  double sent = 0;
  for (int done = 0; done < options_.iterations;) {
    const int now = std::min(per_round, options_.iterations - done);
    if (done > 0 && done % refill == 0) fill(c);
    const double sent_before = traffic_.total().value_or(0);
    seconds += time_iterations(now);
    sent += traffic_.total().value_or(0) - sent_before;
    if (reference_ != nullptr) reference_seconds += time_reference(c, now);
    done += now;
  }
  const double iterations = options_.iterations;
  const double scale = 1 / (iterations * runner_.messages_per_iteration());
  m.time_us = averaged(seconds * scale) * 1e6;
  if (reference_ != nullptr) m.reference_us = averaged(reference_seconds * scale) * 1e6;
  const auto bytes = static_cast<double>(reported_bytes(c.work.shape, c.work.type));
  m.alg_bw = m.time_us > 0 ? bytes / m.time_us / 1e3 : 0;
  m.bus_bw = m.alg_bw * bus_factor(options_.collective, session_.ranks());
  if (traffic_.total()) {
    double sum = 0;
    for (const double of_rank : session_.all_gather(sent / iterations)) sum += of_rank;
    // Between ranks of one host nothing passes the interface that was to count.
    const bool missed = sum == 0 && bytes > 0 && session_.ranks() > 1;
    if (!missed) m.wire_bytes = sum / (one_way() ? session_.ranks() / 2 : session_.ranks());
  }
}

// Seconds this rank spent; --blocking decides what lies between the iterations.
double Benchmark::time_iterations(int iterations) {
  session_.barrier();
  const double start = now_s();
  if (options_.blocking == 0) {
    runner_.run(iterations);
    return now_s() - start;
  }
  double barriers = 0;
  for (int i = 0; i < iterations; ++i) {
    runner_.run(1);
    if (options_.blocking == 2) continue;
    const double before = now_s();
    session_.barrier();
    if (options_.blocking == 3) barriers += now_s() - before;
  }
  return now_s() - start - barriers;
}

double Benchmark::time_reference(const Case& c, int iterations) {
  const std::size_t bytes = c.work.send_bytes();
  const int rank = session_.rank();
  session_.barrier();
  const double start = now_s();
  const auto stream = [&](int send, int recv) {
    reference_->stream(c.work.send, c.work.recv, bytes, static_cast<std::size_t>(send),
                       static_cast<std::size_t>(recv));
  };
  if (options_.pattern == Pattern::ring) {
    stream(iterations, iterations);
  } else if (options_.pattern == Pattern::pair) {
    rank % 2 == 0 ? stream(iterations, 0) : stream(0, iterations);
  } else {
    for (int i = 0; i < iterations; ++i) {
      if (rank % 2 == 0) stream(1, 0);
      stream(0, 1);
      if (rank % 2 != 0) stream(1, 0);
    }
  }
  return now_s() - start;
}

double Benchmark::averaged(double seconds) {
  const std::vector<double> all = session_.all_gather(seconds);
  double sum = 0;
  for (const double value : all) sum += value;
  // One way, what counts is when the data has arrived, not when it was handed over.
  switch (one_way() ? Average::maximum : options_.average) {
    case Average::rank0:
      return all.front();
    case Average::mean:
      return sum / static_cast<double>(all.size());
    case Average::minimum:
      return *std::min_element(all.begin(), all.end());
    case Average::maximum:
      break;
  }
  return *std::max_element(all.begin(), all.end());
}

void Benchmark::check(const Case& c, Measurement& m) {
  fill(c);
  session_.barrier();
  runner_.run(c.copies);
  runner_.download(c.work);
  const bool receives = !one_way() || session_.rank() % 2 != 0;
  Verdict verdict;
  for (int copy = 0; receives && copy < c.copies; ++copy) {
    const std::size_t offset = static_cast<std::size_t>(copy) * c.work.recv_bytes();
    verdict = worse_of(verdict, verify(c.payload, session_.rank(), c.work.recv + offset));
  }
  gather_verdicts(c, verdict, m);
}

void Benchmark::gather_verdicts(const Case& c, const Verdict& mine, Measurement& m) {
  const std::vector<std::string> all = session_.all_gather(pack_verdict(mine));
  std::int64_t wrong = 0;
  bool equal = true;
  m.hash = unpack_numbers(all[one_way() ? 1 : 0]).hash;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const VerdictNumbers numbers = unpack_numbers(all[rank]);
    wrong += numbers.wrong;
    equal &= numbers.hash == *m.hash;
    if (c.payload.gaussian) {
      m.max_error = std::max(m.max_error.value_or(0), numbers.max_error);
      m.rms_error = std::max(m.rms_error.value_or(0), numbers.rms_error);
    }
    const std::string text = all[rank].substr(std::min(sizeof numbers, all[rank].size()));
    if (m.first_wrong.empty() && !text.empty()) {
      m.first_wrong = "rank " + std::to_string(rank) + ": " + text;
    }
  }
  m.wrong = m.wrong.value_or(0) + wrong;
  const bool same_everywhere = options_.collective == Collective::all_reduce ||
                               options_.collective == Collective::all_gather;
  if (same_everywhere) m.hashes_equal = m.hashes_equal.value_or(true) && equal;
}

}  // namespace thinwire::perf
