// What an Endpoint shares with the Listeners and Connections made from it. Owner: the Endpoint;
// its thread.
#pragma once

#include <cstdint>
#include <string>
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
  EndpointState(Contexts the_contexts, Endpoint& control)
      : contexts(std::move(the_contexts)),
        registrations(contexts),
        links(kControlFormat, control) {}

  const Settings& settings() const { return contexts[0]->settings(); }
  // "rxe0+rxe1".
  std::string name() const {
    std::string names = contexts[0]->name();
    for (std::size_t i = 1; i < contexts.size(); ++i) names += "+" + contexts[i]->name();
    return names;
  }

  const Contexts contexts;
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
