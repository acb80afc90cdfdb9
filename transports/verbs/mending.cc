// How a Channel goes on after a queue pair failed: both ends stop theirs, wait until everything
// has come back, open a new one, and tell one another where it is and how much came over the old.
#include "transports/verbs/channel.h"

namespace thinwire::transports::verbs {

std::optional<PathFailure> Channel::take_path_failure() {
  if (path_failures_.empty()) return std::nullopt;
  PathFailure failure = std::move(path_failures_.back());
  path_failures_.pop_back();
  return failure;
}

void Channel::path_is_broken(std::uint16_t path, std::uint16_t epoch) {
  if (path < paths_.size() && paths_[path]->epoch() == epoch) paths_[path]->stop();
}

bool Channel::is_mending() const {
  for (const auto& path : paths_) {
    if (!path->is_live()) return true;
  }
  return false;
}

std::optional<ControlMessage> Channel::take_resume(bool force) {
  for (std::size_t i = 0; i < paths_.size() && !closed_; ++i) {
    Path& path = *paths_[i];
    if (!path.drain() && !(force && path.is_stopped())) continue;
    take_done();
    ControlMessage resume;
    resume.kind = ControlKind::resume;
    resume.path = static_cast<std::uint16_t>(i);
    resume.epoch = path.epoch();
    resume.received = path.received();
    // What of the old queue pair was delivered is counted on until the peer says how much it was.
    mending_[i].delivered = path.delivered();
    const Status opened = path.open();
    if (!opened.ok()) {
      note(opened);
      return std::nullopt;
    }
    mending_[i].reopened = true;
    resume.addresses.push_back(path.address());
    note(finish_mending(resume.path));
    return resume;
  }
  return std::nullopt;
}

Status Channel::take_peer_resume(const ControlMessage& resume) {
  if (resume.path >= paths_.size() || resume.addresses.size() != 1) {
    return {Code::peer_lost, "the peer resumes a path that there is not"};
  }
  Path& path = *paths_[resume.path];
  if (!mending_[resume.path].reopened && path.epoch() == resume.epoch) path.stop();
  mending_[resume.path].peer = resume;
  return finish_mending(resume.path);
}

Status Channel::finish_mending(std::uint16_t number) {
  Mending& mending = mending_[number];
  if (!mending.reopened || !mending.peer) return {};
  Path& path = *paths_[number];
  const ControlMessage peer = std::move(*mending.peer);
  const std::uint32_t before = mending.delivered;
  mending = {};
  if (!path.resume_after(peer.received - before)) {
    return {Code::peer_lost, "the peer received what was not sent"};
  }
  take_done();
  return path.connect(peer.addresses[0]);
}

}  // namespace thinwire::transports::verbs
