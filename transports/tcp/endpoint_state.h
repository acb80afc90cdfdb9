// What an Endpoint shares with the Listeners and Connections made from it; they enter and leave
// its lists themselves. Owner: the Endpoint; its thread.
#pragma once

#include <vector>

#include "transports/tcp/events.h"
#include "transports/tcp/settings.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

class TcpConnection;
class TcpListener;

struct EndpointState {
  explicit EndpointState(const Settings& the_settings) : settings(the_settings) {}

  const Settings& settings;
  EventSet events;
  std::vector<TcpListener*> listeners;
  std::vector<TcpConnection*> connections;
  std::size_t sockets = 0;  // of established connections
  Counters past;            // of connections that are gone, and refused strangers
};

}  // namespace thinwire::transports::tcp
