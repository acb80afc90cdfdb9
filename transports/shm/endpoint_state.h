// What an Endpoint shares with the Listeners and Connections made from it; they enter and leave its
// lists themselves. Owner: the Endpoint; its thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/control_link.h"
#include "transports/event_set.h"
#include "transports/finished.h"
#include "transports/shm/control_message.h"
#include "transports/transport.h"

namespace thinwire::transports::shm {

struct Settings {
  const Config config;
  const Log& log;
  const Clock& clock;
  const bool cross_memory;  // may be tried

  std::int64_t connect_timeout_ns() const { return config.connect_timeout_s * 1'000'000'000; }
};

class ShmConnection;

struct EndpointState {
  EndpointState(const Settings& the_settings, Endpoint& control)
      : settings(the_settings), links(kControlFormat, control) {}

  const Settings& settings;
  EventSet events;
  Finished finished;
  ControlLinks links;
  int listeners = 0;
  std::uint32_t next_connection = 1;
  std::vector<ShmConnection*> connections;
  Counters past;  // of connections that are gone
};

}  // namespace thinwire::transports::shm
