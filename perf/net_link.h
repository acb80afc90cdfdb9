// NetLink: a send and a receive comm of one rank, made as NCCL makes them; and registrations on
// them. Owner: a runner; one thread. All outlived by the PluginLibrary.
#pragma once

#include <memory>
#include <vector>

#include "perf/pages.h"
#include "perf/plugin_api.h"
#include "perf/session.h"
#include "perf/watch.h"

namespace thinwire::perf {

// Registered host memory on one comm; deregistered with the object. Null comm: nothing.
class Registration {
 public:
  Registration(PluginApi& api, void* comm, std::byte* data, std::size_t bytes);
  ~Registration();
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) = delete;

  void* memory() const { return memory_; }

 private:
  PluginApi& api_;
  void* comm_;
  void* memory_ = nullptr;
};

// Whom a rank sends to and receives from; -1: nobody.
struct Peers {
  int send_to = -1;
  int recv_from = -1;
};

class NetLink {
 public:
  NetLink(NetApi& net, void* send, void* recv) : net_(net), send_(send), recv_(recv) {}
  ~NetLink();
  NetLink(NetLink&& other) noexcept;
  NetLink& operator=(NetLink&& other) = delete;

  void* send() const { return send_; }
  void* recv() const { return recv_; }

 private:
  NetApi& net_;
  void* send_;
  void* recv_;
};

// Connects `count` links on every rank: listens, exchanges handles, connects and accepts by
// polling. Collective over the session; blocks.
std::vector<NetLink> connect_links(NetApi& net, int device, Peers peers, int count,
                                   Session& session, Watch& watch);

// The device that --device names: an index or a name. Throws Failure: no_device where the plugin
// has none, usage where it has no such one.
struct Device {
  int index = 0;
  DeviceProperties properties;
};
Device choose_device(PluginApi& api, const std::string& wanted);

}  // namespace thinwire::perf
