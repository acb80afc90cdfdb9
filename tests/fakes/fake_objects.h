// What the fake makes behind libibverbs' handles: each begins with the handle itself.
// Owner: FakeNetwork; under its lock.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "tests/fakes/fake_verbs.h"

namespace thinwire::fakes {

struct FakeContext {
  ibv_context native{};
  FakeNetwork* network = nullptr;
  const FakeHcaOptions* options = nullptr;
  FakeNetwork::Hca* hca = nullptr;
  bool works() const { return hca->up && hca->wire && !hca->dead; }
  std::deque<ibv_event_type> events;
  int children = 0;
};

struct FakePd {
  ibv_pd native{};
  int children = 0;
};

struct FakeMr {
  ibv_mr native{};
  int access = 0;
  std::ptrdiff_t offset = 0;  // of what is really there from its address
};

struct FakeChannel {
  ibv_comp_channel native{};
  std::deque<FakeCq*> events;
  int children = 0;
};

struct FakeCq {
  struct Entry {
    ibv_wc completion{};
    std::uint32_t qp = 0;
    bool is_send = false;
    std::uint64_t index = 0;  // of the work request in its queue
  };
  ibv_cq native{};
  FakeChannel* channel = nullptr;
  std::deque<Entry> entries;
  bool armed = false;
  bool overflowed = false;
  int children = 0;
  unsigned unacknowledged = 0;
};

struct FakeSend {
  ibv_send_wr request{};
  std::vector<ibv_sge> memory;
  std::vector<std::byte> inlined;
  std::uint64_t index = 0;
  std::size_t bytes() const {
    std::size_t sum = inlined.size();
    for (const ibv_sge& each : memory) sum += each.length;
    return sum;
  }
};

struct FakeReceive {
  std::uint64_t id = 0;
  std::vector<ibv_sge> memory;
};

struct FakeQp {
  ibv_qp native{};
  FakeContext* context = nullptr;
  FakePd* pd = nullptr;
  FakeCq* send_cq = nullptr;
  FakeCq* receive_cq = nullptr;
  ibv_qp_cap cap{};
  ibv_qp_attr attributes{};
  std::uint32_t extensions = 0;  // its device's, then those in use
  bool agreed = false;
  std::deque<FakeSend> sends;
  std::deque<FakeReceive> receives;
  std::uint64_t sends_posted = 0;
  std::uint64_t sends_retired = 0;  // by polled completions
  std::uint64_t receives_posted = 0;
  std::uint64_t receives_retired = 0;
  std::uint64_t receives_used = 0;
};

template <class Fake, class Native>
Fake* as(Native* native) {
  return reinterpret_cast<Fake*>(native);
}

}  // namespace thinwire::fakes
