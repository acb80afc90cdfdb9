// What an Endpoint shares with the Listeners and Connections made from it. Owner: the Endpoint;
// its thread.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/control_link.h"
#include "transports/event_set.h"
#include "transports/finished.h"
#include "transports/transport.h"
#include "transports/verbs/control_message.h"
#include "transports/verbs/device.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {

class VerbsConnection;

struct EndpointState {
  EndpointState(std::unique_ptr<Context> the_context, Endpoint& control)
      : context(std::move(the_context)), registrations(*context), links(kControlFormat, control) {}

  const Settings& settings() const { return context->settings(); }

  const std::unique_ptr<Context> context;
  Registrations registrations;
  EventSet events;
  Finished finished;
  ControlLinks links;
  int listeners = 0;
  std::uint32_t next_connection = 1;
  std::vector<VerbsConnection*> connections;
  // A message was given to a control connection.
  bool control_is_urgent = false;
  Counters past;  // of connections that are gone
};

}  // namespace thinwire::transports::verbs
