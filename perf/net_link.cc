#include "perf/net_link.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

namespace thinwire::perf {
namespace {

// One listener of this rank, closed with the object.
struct Listener {
  explicit Listener(NetApi& api) : net(api) {}
  Listener(Listener&& other) noexcept
      : net(other.net), comm(std::exchange(other.comm, nullptr)), handle(other.handle) {}
  ~Listener() {
    if (comm != nullptr) (void)net.close_listen(comm);
  }
  NetApi& net;
  void* comm = nullptr;
  ListenHandle handle{};
};

std::vector<Listener> listen_all(NetApi& net, int device, int count) {
  std::vector<Listener> listeners;
  for (int i = 0; i < count; ++i) {
    Listener& listener = listeners.emplace_back(net);
    nccl_check(net, net.listen(device, &listener.handle, &listener.comm), "listen");
  }
  return listeners;
}

std::string handles_text(const std::vector<Listener>& listeners) {
  std::string text;
  for (const Listener& listener : listeners) {
    text.append(listener.handle.data(), listener.handle.size());
  }
  return text;
}

ListenHandle handle_at(const std::string& text, int index) {
  ListenHandle handle{};
  const std::size_t at = static_cast<std::size_t>(index) * handle.size();
  if (at + handle.size() > text.size()) {
    throw Failure(ExitCode::runtime_error, "a peer sent no handle");
  }
  std::memcpy(handle.data(), text.data() + at, handle.size());
  return handle;
}

}  // namespace

Registration::Registration(PluginApi& api, void* comm, std::byte* data, std::size_t bytes)
    : api_(api), comm_(comm) {
  if (comm_ != nullptr) nccl_check(api, api.register_memory(comm, data, bytes, &memory_), "regMr");
}

Registration::~Registration() {
  if (comm_ != nullptr) (void)api_.deregister_memory(comm_, memory_);
}

Registration::Registration(Registration&& other) noexcept
    : api_(other.api_), comm_(std::exchange(other.comm_, nullptr)), memory_(other.memory_) {}

NetLink::~NetLink() {
  if (send_ != nullptr) (void)net_.close_send(send_);
  if (recv_ != nullptr) (void)net_.close_recv(recv_);
}

NetLink::NetLink(NetLink&& other) noexcept
    : net_(other.net_),
      send_(std::exchange(other.send_, nullptr)),
      recv_(std::exchange(other.recv_, nullptr)) {}

std::vector<NetLink> connect_links(NetApi& net, int device, Peers peers, int count,
                                   Session& session, Watch& watch) {
  std::vector<Listener> listeners;
  session.agree([&] { listeners = listen_all(net, device, peers.recv_from < 0 ? 0 : count); });
  const std::vector<std::string> handles = session.all_gather(handles_text(listeners));
  std::vector<NetLink> links;
  session.agree([&] {
    for (int i = 0; i < count; ++i) {
      void* send = nullptr;
      void* recv = nullptr;
      ListenHandle handle{};
      if (peers.send_to >= 0) {
        handle = handle_at(handles[static_cast<std::size_t>(peers.send_to)], i);
      }
      const auto connected = [&] {
        return (peers.send_to < 0 || send != nullptr) && (peers.recv_from < 0 || recv != nullptr);
      };
      watch.poll_until(
          [&] {
            if (peers.send_to >= 0 && send == nullptr) {
              nccl_check(net, net.connect(device, &handle, &send), "connect");
            }
            if (peers.recv_from >= 0 && recv == nullptr) {
              nccl_check(net, net.accept(listeners[static_cast<std::size_t>(i)].comm, &recv),
                         "accept");
            }
            return connected();
          },
          connected);
      links.emplace_back(net, send, recv);
    }
  });
  return links;
}

namespace {

// "a+b" names one device that is made of a and b.
Device merge_devices(PluginApi& api, const std::string& wanted) {
  std::vector<int> members;
  std::istringstream names(wanted);
  for (std::string name; std::getline(names, name, '+');) {
    members.push_back(choose_device(api, name).index);
  }
  Device device;
  nccl_check(api, api.merge(members, &device.index), "makeVDevice");
  nccl_check(api, api.properties(device.index, &device.properties), "getProperties");
  return device;
}

}  // namespace

Device choose_device(PluginApi& api, const std::string& wanted) {
  int count = 0;
  nccl_check(api, api.devices(&count), "devices");
  if (count <= 0) {
    throw Failure(ExitCode::no_device, std::string("plugin ") + api.name() +
                                           " finds no device on this host (its log says why: "
                                           "NCCL_DEBUG=INFO)");
  }
  std::string names;
  for (int index = 0; index < count; ++index) {
    Device device{index, {}};
    nccl_check(api, api.properties(index, &device.properties), "getProperties");
    if (wanted == std::to_string(index) || wanted == device.properties.name) return device;
    names += (names.empty() ? "" : ", ") + std::to_string(index) + " " + device.properties.name;
  }
  if (wanted.find('+') != std::string::npos) return merge_devices(api, wanted);
  throw Failure(ExitCode::usage, "--device " + wanted + " is not there; accepted: " + names);
}

}  // namespace thinwire::perf
