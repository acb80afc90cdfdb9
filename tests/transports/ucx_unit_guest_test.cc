// What loading UCX leaves behind in a process that is not ours.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"

namespace thinwire::transports::ucx {
namespace {

std::map<int, void (*)(int)> handlers() {
  std::map<int, void (*)(int)> found;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0) found[signal] = action.sa_handler;
  }
  return found;
}

TEST(UcxGuest, LoadingAndOpening_LeaveTheSignalHandlersAsTheyWere) {
  const auto before = handlers();
  Log log([](LogLevel, const char*, int, const char*) {});
  const SteadyClock clock;
  Config config;
  config.socket_ifname = "=lo";
  tcp::TcpTransport control(config, log, clock);
  UcxTransport transport(config, log, clock, control);
  const auto devices = transport.probe();
  if (!devices.ok()) GTEST_SKIP() << devices.status().text();
  const auto endpoint = transport.open(0);
  EXPECT_TRUE(endpoint.ok()) << endpoint.status().text();
  EXPECT_EQ(handlers(), before);
}

}  // namespace
}  // namespace thinwire::transports::ucx
