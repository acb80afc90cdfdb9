#include "tests/collectives/cluster.h"

#include <gtest/gtest.h>

#include <chrono>

namespace thinwire::collectives::testing {
namespace {

constexpr auto kHangDeadline = std::chrono::seconds(60);
void discard_line(LogLevel, const char*, int, const char*) {}

}  // namespace

Cluster::Cluster(const ClusterOptions& options)
    : log_(discard_line),
      fabric_({options.ranks, options.window_bytes, options.max_sends, 4 * options.engine.max_tiles,
               true}),
      transport_(fabric_),
      members_(static_cast<std::size_t>(options.ranks)),
      random_(options.seed) {
  for (int rank = 0; rank < options.ranks; ++rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    member.endpoint = transport_.open(rank).value();
    member.connections.resize(members_.size());
    member.speed = 1 + random_() % 8;
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    for (const int peer : peers_needed(options.engine, rank, options.ranks)) {
      if (peer > rank) connect(rank, peer);
    }
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    Group group{rank, options.ranks, member.endpoint.get(), {}};
    for (const auto& connection : member.connections) {
      group.connections.push_back(connection.get());
    }
    auto engine = Engine::create(options.engine, group, log_);
    if (!engine.ok()) {
      ADD_FAILURE() << "rank " << rank << ": " << engine.status().text();
      continue;
    }
    member.engine = std::move(engine).value();
  }
}

Cluster::~Cluster() {
  for (Member& member : members_) member.connections.clear();
}

void Cluster::connect(int rank, int peer) {
  Member& caller = members_[static_cast<std::size_t>(rank)];
  Member& acceptor = members_[static_cast<std::size_t>(peer)];
  auto listener = acceptor.endpoint->listen();
  auto called = caller.endpoint->connect(listener.value()->handle(), {});
  auto accepted = acceptor.endpoint->try_accept(*listener.value());
  caller.connections[static_cast<std::size_t>(peer)] = std::move(called).value();
  acceptor.connections[static_cast<std::size_t>(rank)] = std::move(accepted).value();
}

void Cluster::poll_some_rank() {
  Member& member = members_[random_() % members_.size()];
  if (!member.engine) return;
  for (std::uint64_t i = 0; i < member.speed; ++i) {
    if (!member.engine->poll().failed()) continue;
    member.connections.clear();
    return;
  }
}

bool Cluster::run_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kHangDeadline;
  while (!condition()) {
    for (int i = 0; i < 2 * ranks(); ++i) poll_some_rank();
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "no progress";
      return false;
    }
  }
  return true;
}

void Cluster::kill(int rank) {
  fabric_.drop_device(rank);
  Member& member = members_[static_cast<std::size_t>(rank)];
  member.connections.clear();
  member.engine.reset();
}

}  // namespace thinwire::collectives::testing
