#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "perf/benchmark.h"
#include "perf/collnet_runner.h"
#include "perf/json_report.h"
#include "perf/nccl_runner.h"
#include "perf/option_rules.h"
#include "perf/printing.h"
#include "perf/program.h"
#include "perf/ring_runner.h"
#include "perf/startup.h"
#include "perf/stream_runner.h"
#include "perf/table.h"

namespace thinwire::perf {
namespace {

// A rank's transport and what it stands on, destroyed in the right order.
struct Transport {
  std::unique_ptr<Watch> watch;
  std::unique_ptr<PluginContext> context;
  std::unique_ptr<Runner> runner;
  std::unique_ptr<PlainFlow> reference;
};

bool has_function_for(Collective collective, const CollNetApi* collnet) {
  return collnet != nullptr && (collective == Collective::all_reduce || collnet->has_windows());
}

std::unique_ptr<Runner> make_plugin_runner(const Options& options, PluginContext& context) {
  if (options.collective == Collective::send_recv) {
    return std::make_unique<StreamRunner>(options, context);
  }
  const CollNetApi* collnet = context.collnet();
  if (options.api == Api::collnet && collnet == nullptr) {
    throw Failure(ExitCode::no_device,
                  context.path() + " has no CollNet table, or no CollNet device on some rank")
        .set_quiet(!context.session.is_root());
  }
  const bool callable = has_function_for(options.collective, collnet);
  if (options.api == Api::collnet && !callable) {
    throw Failure(ExitCode::usage,
                  "--api collnet: version " + std::to_string(collnet->version()) +
                      " of NCCL's CollNet table knows all-reduce only; all-gather and "
                      "reduce-scatter came with version 8 (--interface 8 to 12, --api net)")
        .set_quiet(!context.session.is_root());
  }
  if (options.api != Api::net && callable) {
    return std::make_unique<CollNetRunner>(options, context);
  }
  context.session.agree([&] { check_effects_without_collnet(options); });
  return std::make_unique<RingRunner>(options, context);
}

Transport make_transport(const Startup& startup, Session& session) {
  const Options& options = startup.options;
  Transport transport;
  transport.watch =
      std::make_unique<Watch>(session, options.timeout_s, options.grace_s, options.spin);
  if (options.separate_hosts) {
    setenv("NCCL_HOSTID", ("perf-rank-" + std::to_string(session.rank())).c_str(), 1);
  }
  if (options.api == Api::nccl) {
    transport.runner = std::make_unique<NcclRunner>(options, session, *transport.watch);
    return transport;
  }
  const bool want_collnet = options.api != Api::net && options.collective != Collective::send_recv;
  transport.context = std::make_unique<PluginContext>(options, startup.plugin, session,
                                                      *transport.watch, want_collnet);
  transport.runner = make_plugin_runner(options, *transport.context);
  if (options.reference) {
    const std::string host = host_of_interface(transport.runner->interface(), session.local_host());
    transport.reference = std::make_unique<PlainFlow>(
        host, peers_of(options.pattern, session.rank(), session.ranks()), options.congestion,
        Waiting::spin, session, *transport.watch);
  }
  return transport;
}

RankInfo parse_rank(const std::string& text, int rank) {
  const std::size_t first = text.find('\n');
  const std::size_t second = text.find('\n', first + 1);
  return {rank, std::atoi(text.c_str()), text.substr(first + 1, second - first - 1),
          text.substr(second + 1)};
}

RunInfo gather_info(const Options& options, const Transport& transport, const char* wire_source,
                    Session& session) {
  RunInfo info;
  info.program = std::filesystem::path(options.arguments[0]).filename();
  info.transport = transport.runner->description();
  if (transport.context) info.plugin_path = transport.context->path();
  info.wire_source = wire_source;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string interface = transport.runner->interface();
  const auto all = session.all_gather(std::to_string(getpid()) + "\n" + host + "\n" +
                                      (interface.empty() ? "-" : interface));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    info.ranks.push_back(parse_rank(all[rank], static_cast<int>(rank)));
  }
  return info;
}

ExitCode run(const Startup& startup, Session& session) {
  const Options& options = startup.options;
  const std::string start_time = time_text();
  session.agree([&] {
    if (session.is_root()) check_writable(options.json_path);
  });
  Transport transport = make_transport(startup, session);
  Benchmark benchmark(options, session, *transport.runner, transport.reference.get(), startup.lossy,
                      startup.lossy_bound);
  const RunInfo info = gather_info(options, transport, benchmark.traffic_source(), session);
  const TableColumns columns{startup.lossy && reduces(options.collective), options.reference};
  if (session.is_root()) print(preamble_text(options, info) + header_text(columns));
  const std::vector<Row> rows = benchmark.run([&](const Row& row) {
    if (session.is_root()) print(row_text(row, options.root, columns));
  });
  if (session.is_root()) {
    print(footer_text(info, rows));
    if (startup.lossy && startup.lossy_bound == kNoLossyBound) {
      print("# No bound for each element with these settings: judge by the errors.\n");
    }
    write_file(options.json_path, json_text(options, info, rows, start_time));
  }
  if (rows.empty()) {
    throw Failure(ExitCode::runtime_error,
                  "the plugin supports none of the wanted types and operations")
        .set_quiet(!session.is_root());
  }
  return summarize(rows).out_of_bounds == 0 ? ExitCode::ok : ExitCode::wrong_results;
}

}  // namespace

int collective_main(Collective collective, int argc, char** argv) {
  return start(Program::collective, collective, argc, argv, &run);
}

}  // namespace thinwire::perf
