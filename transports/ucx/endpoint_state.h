// What an Endpoint shares with the Listeners, Connections and Channels made from it; they enter
// and leave its lists themselves. Owner: the Endpoint; its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transports/control_link.h"
#include "transports/event_set.h"
#include "transports/finished.h"
#include "transports/transport.h"
#include "transports/ucx/context.h"
#include "transports/ucx/worker.h"

namespace thinwire::transports::ucx {

class Channel;
class UcxConnection;

struct EndpointState final : MessageSink {
  EndpointState(const Context& the_context, Endpoint& the_control);
  ~EndpointState();

  const Settings& settings() const { return context.settings(); }
  bool message_arrived(const ActiveMessage& message) override;
  // True when something happened.
  bool progress_workers();
  // Takes over a channel whose owner is gone. Posts that UCX works on are broken off, and nothing
  // touches their buffers on return (UCX has two seconds for it and needs none where the channel
  // has a worker of its own); without any, if `in_order`, what was sent still goes out.
  void let_go(std::unique_ptr<Channel> channel, bool in_order);
  void progress_departing(std::int64_t now_ns);
  // After the Endpoint's life: moves what is left; true when nothing is.
  bool finish_departing(std::int64_t now_ns);
  // The control connections are worth a look now.
  void look_at_control() { control_is_urgent = true; }

  const Context& context;
  const std::uint64_t number;  // random: tells this Endpoint from all others
  EventSet events;
  Finished finished;
  std::vector<Worker*> workers;
  std::unique_ptr<Worker> shared_worker;
  // Peers (by their number) that a channel of the shared worker was ever made to. UCX pairs the
  // endpoints between two workers by the order in which each side makes them, which two sides do
  // not agree on: so there is never a second one.
  std::unordered_set<std::uint64_t> peers_of_shared_worker;
  std::unordered_map<std::uint32_t, Channel*> channels;
  std::uint32_t next_connection = 1;
  ControlLinks links;
  int listeners = 0;
  std::vector<UcxConnection*> connections;
  // Closed by their owners; UCX is not done with them.
  struct Departing {
    std::unique_ptr<Channel> channel;
    std::int64_t until_ns = 0;
  };
  std::vector<Departing> departing;
  bool control_is_urgent = false;
  Counters past;  // of connections that are gone
};

}  // namespace thinwire::transports::ucx
