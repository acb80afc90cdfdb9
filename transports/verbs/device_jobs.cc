#include "transports/verbs/device_jobs.h"

#include <algorithm>

namespace thinwire::transports::verbs {

namespace {
constexpr int kMostFailures = 8;  // more than one a device while ports go down
}

void DeviceJobs::flush(const void* data, const Keys& keys, std::uint64_t cookie) {
  Job job;
  job.address = reinterpret_cast<std::uintptr_t>(data);
  job.keys = keys;
  job.cookie = cookie;
  jobs_.push_back(std::move(job));
  start();
}

void DeviceJobs::copy(void* to, const Keys& keys, std::unique_ptr<std::byte[]> bytes,
                      std::size_t count, void* owner) {
  Job job;
  job.address = reinterpret_cast<std::uintptr_t>(to);
  job.keys = keys;
  job.bytes = std::move(bytes);
  job.count = count;
  job.owner = owner;
  jobs_.push_back(std::move(job));
  start();
}

Status DeviceJobs::give(std::size_t member) {
  Way& way = ways_[member];
  if (!way.loopback) {
    auto made = Loopback::create(*contexts_[member]);
    if (!made.ok()) return made.status();
    way.loopback = std::move(made).value();
  }
  const Job& job = jobs_.front();
  const Status status =
      job.bytes ? way.loopback->write(job.address, job.keys[member], {job.bytes.get(), job.count})
                : way.loopback->read(job.address, job.keys[member]);
  way.busy = status.ok();
  return status;
}

void DeviceJobs::failed(std::size_t member, const Status& status) {
  ways_[member] = {};
  again_ = true;
  const bool last = ways_.size() == 1 || ++failures_ > kMostFailures;
  if (last && failure_.ok()) failure_ = status;
}

void DeviceJobs::start() {
  if (started_ || jobs_.empty() || failure_.failed()) return;
  again_ = false;
  for (std::size_t member = 0; member < ways_.size(); ++member) {
    if (!contexts_[member]->is_up()) continue;
    if (const Status status = give(member); !status.ok()) {
      failed(member, status);
      continue;
    }
    started_ = true;
    if (jobs_.front().bytes) {
      again_ = false;
      return;
    }
  }
}

bool DeviceJobs::poll() {
  bool any = false;
  for (std::size_t member = 0; member < ways_.size(); ++member) {
    Way& way = ways_[member];
    if (!way.busy) continue;
    const Status status = way.loopback->poll();
    if (status.is_would_block()) continue;
    any = true;
    way.busy = false;
    if (!status.ok()) failed(member, status);
  }
  return any;
}

bool DeviceJobs::progress() {
  if (jobs_.empty()) return false;
  const bool any = poll();
  if (started_ && std::ranges::none_of(ways_, &Way::busy)) finish();
  start();
  return any;
}

void DeviceJobs::finish() {
  started_ = false;
  if (again_) return;
  failures_ = 0;
  const Job& job = jobs_.front();
  if (job.bytes)
    copied_.push_back(job.owner);
  else
    finished_.push(connection_, {job.cookie, {}, 0, {}});
  jobs_.pop_front();
}

bool DeviceJobs::arm() {
  return std::ranges::all_of(ways_,
                             [](const Way& way) { return !way.busy || way.loopback->arm(); });
}

void* DeviceJobs::next_copied() {
  if (copied_.empty()) return nullptr;
  void* owner = copied_.front();
  copied_.pop_front();
  return owner;
}

void DeviceJobs::fail(const Status& status) {
  ways_.clear();
  for (; !jobs_.empty(); jobs_.pop_front()) {
    if (!jobs_.front().bytes) finished_.push(connection_, {jobs_.front().cookie, status, 0, {}});
  }
  copied_.clear();
}

}  // namespace thinwire::transports::verbs
