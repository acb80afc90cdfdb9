// What every part of the verbs transport needs to know: built once by VerbsTransport, held by
// reference. Read-only; any thread.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/verbs/api.h"

namespace thinwire::transports::verbs {

struct Settings {
  std::int64_t connect_timeout_ns() const { return config.connect_timeout_s * 1'000'000'000; }
  std::int64_t peer_timeout_ns() const { return config.peer_timeout_s * 1'000'000'000; }

  const Config config;
  const Log& log;
  const Clock& clock;
  const Api& api;
};

}  // namespace thinwire::transports::verbs
