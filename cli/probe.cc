#include "base/clock.h"
#include "cli/facts.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::cli {
namespace {

TransportFacts probe(transports::Transport& transport) {
  TransportFacts facts;
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
  return {probe(tcp)};
}

}  // namespace thinwire::cli
