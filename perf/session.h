// Session: the ranks of one run, joined through rank 0 (the bootstrap NCCL would bring along).
//
// Rank 0 listens; everyone else holds one connection to it. Collective calls go through rank 0 in
// the same order on every rank. A rank that ends early, orderly or not, is known to rank 0 at once
// by its closed connection, and rank 0 tells the others. Owner: one per rank process; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/failure.h"
#include "perf/frame.h"
#include "perf/sockets.h"

namespace thinwire::perf {

struct SessionPlan {
  int rank = 0;
  int ranks = 1;
  HostPort rendezvous;     // where rank 0 listens
  int listener_fd = -1;    // rank 0: already listening there; -1: Session listens itself
  double timeout_s = 300;  // for joining and for each collective call; 0: for ever
};

class Session {
 public:
  // Blocks until every rank has joined. Throws Failure (runtime_error) naming the missing ranks.
  // Connections that do not say hello properly are dropped; a process that says it is of a run of
  // another size, or a rank that is there already, is told so and turned away.
  explicit Session(const SessionPlan& plan);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return plan_.rank; }
  int ranks() const { return plan_.ranks; }
  double timeout_s() const { return plan_.timeout_s; }
  bool is_root() const { return plan_.rank == 0; }
  // This rank's address as the others can reach it.
  const std::string& local_host() const { return local_host_; }

  // Every rank's text, in rank order, on every rank. Throws Failure when a rank is lost or the
  // time is up.
  std::vector<std::string> all_gather(std::string_view mine);
  void barrier() { all_gather({}); }
  // The same for numbers.
  std::vector<double> all_gather(double mine);

  // A text that says which rank is gone and why; nullopt while all are there. Does not block.
  std::optional<std::string> lost_peer();

  // Runs `step` on every rank; if it throws on any rank, every rank throws the failure of the
  // lowest one (quiet everywhere but on that one).
  template <class Step>
  void agree(Step&& step) {
    std::optional<Failure> failure;
    try {
      step();
    } catch (const Failure& caught) {
      failure = caught;
    }
    settle(failure);
  }

  // Tells the others why this rank ends. Never throws.
  void announce_failure(const std::string& reason) noexcept;

 private:
  void join_as_root(Socket listener, Deadline deadline);
  void join_as_leaf(Deadline deadline);
  bool admit(Socket socket, const Frame& frame);
  Deadline deadline() const;
  [[noreturn]] void fail(const std::string& reason);
  std::vector<std::string> gather_at_root(std::string_view mine, Deadline deadline);
  void settle(const std::optional<Failure>& mine);

  SessionPlan plan_;
  std::vector<Socket> peers_;  // root: by rank, [0] unused; leaf: [0] is the root
  std::string local_host_;
  std::string turned_away_;
  std::optional<std::string> lost_;
};

}  // namespace thinwire::perf
