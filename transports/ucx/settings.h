// What every part of the UCX transport needs to know: built once by UcxTransport, held by
// reference. Read-only; any thread.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/ucx/api.h"
#include "transports/ucx/memory_domain.h"

namespace thinwire::transports::ucx {

struct Settings {
  Settings(const Config& the_config, const Log& the_log, const Clock& the_clock, const Api& the_api)
      : config(the_config),
        log(the_log),
        clock(the_clock),
        api(the_api),
        domain(memory_domain(config.hostid)) {}

  std::int64_t connect_timeout_ns() const { return config.connect_timeout_s * 1'000'000'000; }

  const Config config;
  const Log& log;
  const Clock& clock;
  const Api api;
  const std::uint64_t domain;
};

}  // namespace thinwire::transports::ucx
