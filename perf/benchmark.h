// Benchmark: times and verifies every row of a run, on all ranks together, as nccl-tests does.
// Owner: the program, one per rank process; one thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "perf/options.h"
#include "perf/pages.h"
#include "perf/payload.h"
#include "perf/plain_flow.h"
#include "perf/result.h"
#include "perf/runner.h"
#include "perf/session.h"
#include "perf/traffic.h"
#include "perf/verify.h"

namespace thinwire::perf {

class Benchmark {
 public:
  // `lossy`: sums of floats are checked against a float64 reference, each element within
  // `lossy_bound` (payload.h). `reference` may be null.
  Benchmark(const Options& options, Session& session, Runner& runner, PlainFlow* reference,
            bool lossy, double lossy_bound);

  // Collective over the session. Calls `on_row` after each row, on every rank alike.
  std::vector<Row> run(const std::function<void(const Row&)>& on_row);

  const char* traffic_source() const { return traffic_.source(); }

 private:
  struct Case {
    Work work;
    Payload payload;
    bool in_place = false;
    int copies = 1;
  };

  Case make_case(std::size_t bytes, DataType type, PerfOp op, bool in_place) const;
  std::optional<Row> run_row(std::size_t bytes, DataType type, PerfOp op);
  Measurement measure(Case& c);
  void warm_up(DataType type, PerfOp op);
  void fill(const Case& c);
  void time(const Case& c, Measurement& m);
  double time_iterations(int iterations);
  double time_reference(const Case& c, int iterations);
  void check(const Case& c, Measurement& m);
  void gather_verdicts(const Case& c, const Verdict& mine, Measurement& m);
  double averaged(double seconds);
  bool one_way() const;

  const Options& options_;
  Session& session_;
  Runner& runner_;
  PlainFlow* reference_;
  bool lossy_;
  double lossy_bound_;
  TrafficMeter traffic_;
  Pages send_;
  Pages recv_;
};

// Iterations after which in-place data is written anew, outside the clock: a sum in place grows by
// the number of ranks each time and would become infinite.
int iterations_between_refills(DataType type, PerfOp op, int ranks);

}  // namespace thinwire::perf
