#include "base/clock.h"
#include "cli/facts.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"
#include "transports/verbs/verbs_transport.h"

namespace thinwire::cli {
namespace {

TransportFacts probe(transports::Transport& transport, bool chosen) {
  TransportFacts facts;
  facts.chosen = chosen;
  facts.name = transport.name();
  auto devices = transport.probe();
  if (devices.ok()) {
    facts.devices = std::move(devices).value();
    if (facts.devices.empty()) facts.error = "no device";
  } else {
    facts.error = devices.status().text();
  }
  return facts;
}

}  // namespace

std::vector<TransportFacts> probe_transports(const Config& config, const Log& log) {
  const SteadyClock clock;
  transports::tcp::TcpTransport tcp(config, log, clock);
  transports::ucx::UcxTransport ucx(config, log, clock, tcp);
  transports::verbs::VerbsTransport verbs(config, log, clock, tcp);
  const bool with_ucx = config.transport == TransportChoice::ucx;
  const bool with_verbs = config.transport == TransportChoice::verbs;
  return {probe(tcp, !with_ucx && !with_verbs), probe(ucx, with_ucx), probe(verbs, with_verbs)};
}

}  // namespace thinwire::cli
