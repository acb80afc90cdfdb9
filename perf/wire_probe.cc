#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "perf/json_report.h"
#include "perf/pages.h"
#include "perf/plain_flow.h"
#include "perf/printing.h"
#include "perf/program.h"
#include "perf/size_text.h"
#include "perf/startup.h"

namespace thinwire::perf {
namespace {

using Json = nlohmann::ordered_json;

struct Goodput {
  std::vector<double> bytes_per_s;  // by rank, of what it received
  double mean = 0;
  double lowest = 0;
  double aggregate = 0;
};

// Message by message through one small buffer: the wire is measured, not the memory.
constexpr std::size_t kMessageBytes = 256 << 10;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Goodput measure(const Options& options, PlainFlow& flow, Session& session) {
  const Pages out(kMessageBytes);
  const Pages in(kMessageBytes);
  const std::size_t messages = std::max<std::size_t>(options.min_bytes / kMessageBytes, 1);
  const auto stream = [&](int iterations) {
    const std::size_t count = messages * static_cast<std::size_t>(iterations);
    flow.stream(out.data(), in.data(), kMessageBytes, count, count);
  };
  stream(options.warmup);
  session.barrier();
  const double start = now_s();
  stream(options.iterations);
  const double seconds = now_s() - start;
  const double bytes = static_cast<double>(messages * kMessageBytes) * options.iterations;
  Goodput result;
  result.bytes_per_s = session.all_gather(bytes / seconds);
  for (const double rate : result.bytes_per_s) result.aggregate += rate;
  result.mean = result.aggregate / session.ranks();
  result.lowest = *std::min_element(result.bytes_per_s.begin(), result.bytes_per_s.end());
  return result;
}

void print_goodput(const Goodput& goodput, const std::vector<std::string>& hosts) {
  std::printf("# Plain TCP, every rank to its right neighbour, all at once\n");
  std::printf("#%5s  %-24s  %10s  %10s\n", "rank", "address", "MB/s", "Gbit/s");
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    std::printf("%6zu  %-24s  %10.2f  %10.4f\n", rank, hosts[rank].c_str(),
                goodput.bytes_per_s[rank] / 1e6, goodput.bytes_per_s[rank] * 8e-9);
  }
  std::printf("# mean %.4f Gbit/s, lowest %.4f, all together %.4f\n", goodput.mean * 8e-9,
              goodput.lowest * 8e-9, goodput.aggregate * 8e-9);
  const double n = static_cast<double>(hosts.size());
  const double limit_s = 2 * (n - 1) / n * (64 << 20) / goodput.mean;
  std::printf("# wire limit of an all-reduce of 64M over %zu ranks: %.1f ms\n", hosts.size(),
              limit_s * 1e3);
}

std::string json_of(const Options& options, const Goodput& goodput,
                    const std::vector<std::string>& hosts) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    ranks.push_back({{"rank", rank},
                     {"address", hosts[rank]},
                     {"goodput_bytes_per_s", goodput.bytes_per_s[rank]}});
  }
  const Json json = {{"args", options.arguments},
                     {"ranks", ranks},
                     {"mean_bytes_per_s", goodput.mean},
                     {"lowest_bytes_per_s", goodput.lowest},
                     {"aggregate_bytes_per_s", goodput.aggregate}};
  return json.dump(2) + "\n";
}

ExitCode run(const Startup& startup, Session& session) {
  const Options& options = startup.options;
  if (session.ranks() < 2) {
    throw Failure(ExitCode::usage, "wire_probe with 1 rank; accepted: 2 or more (-g, a launcher)");
  }
  session.agree([&] {
    if (session.is_root()) check_writable(options.json_path);
  });
  Watch watch(session, options.timeout_s, options.grace_s);
  const int ranks = session.ranks();
  const Peers peers{(session.rank() + 1) % ranks, (session.rank() + ranks - 1) % ranks};
  PlainFlow flow(session.local_host(), peers, options.congestion, Waiting::sleep, session, watch);
  const Goodput goodput = measure(options, flow, session);
  const std::vector<std::string> hosts = session.all_gather(session.local_host());
  if (session.is_root()) {
    print_goodput(goodput, hosts);
    require_output();
    write_file(options.json_path, json_of(options, goodput, hosts));
  }
  return ExitCode::ok;
}

}  // namespace

int wire_probe_main(int argc, char** argv) {
  return start(Program::wire_probe, Collective::send_recv, argc, argv, &run);
}

}  // namespace thinwire::perf
