// The contract suite's fixture: one transport, two endpoints, links between them, and progress
// until something happens. Owner: each test; one thread unless a test says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/transport.h"

namespace thinwire::transports::contract {

// One transport under one configuration. Device 0 of what `make` returns must reach itself, or
// another device where one is named.
struct Case {
  std::string name;  // letters, digits and _ only
  std::function<std::unique_ptr<Transport>(const Config&, const Log&, const Clock&)> make;
  Config config;
  int accepting_device = 0;
};
void PrintTo(const Case& the_case, std::ostream* out);
std::string name_of(const ::testing::TestParamInfo<Case>& parameter);

// Every transport that is built in: contract_cases.cc, one entry each.
std::vector<Case> cases();

using Bytes = std::vector<std::byte>;

// `count` bytes that depend on `seed`: equal seeds give equal bytes.
Bytes pattern(std::size_t count, std::uint64_t seed);

// One end of a link, with the completions that were polled for it.
struct Side {
  Endpoint* endpoint = nullptr;
  std::unique_ptr<Connection> connection;
};

struct Link {
  Side from;  // the connecting side
  Side to;    // the accepting side
};

class Contract : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override;  // skips with probe()'s reason where the transport is absent
  void TearDown() override;

  // Polls both endpoints until `condition` holds. False (and a test failure) when it takes
  // longer than a deadline that only a hang can reach.
  bool progress_until(const std::function<bool()>& condition);
  void poll_once();

  // A connected link, left -> right. `hello` reaches the accepting side.
  Link connect_link(std::span<const std::byte> hello = {});
  // The same through a listener that exists already.
  Link connect_link(Listener& listener, std::span<const std::byte> hello = {});

  // Registers (until the completion is polled), posts (polling while the transport answers
  // would_block) and returns the cookie.
  std::uint64_t send(Side& side, std::span<const std::byte> data, std::uint64_t tag);
  std::uint64_t receive(Side& side, std::span<std::byte> buffer, std::uint64_t tag);
  std::uint64_t receive_group(Side& side, std::span<const ReceiveBuffer> buffers);

  bool is_done(std::uint64_t cookie) const { return completions_.contains(cookie); }
  bool wait_done(std::uint64_t cookie);
  // The completion of a cookie that is done.
  const Completion& completion(std::uint64_t cookie) const { return completions_.at(cookie); }
  std::size_t completion_count() const { return completions_.size(); }

  // Sends `count` bytes of a pattern and checks what arrives. The receive is posted first or last.
  void exchange(Side& sender, Side& receiver, std::size_t count, std::uint64_t tag,
                bool receive_first);

  Log log_;
  SteadyClock clock_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Endpoint> left_;
  std::unique_ptr<Endpoint> right_;

 private:
  void collect(Endpoint& endpoint);
  template <class Post>
  std::uint64_t post(Post&& attempt);

  std::uint64_t next_cookie_ = 1;
  std::unordered_map<std::uint64_t, Completion> completions_;
  // By cookie, what was registered for it: tests free their buffers afterwards.
  std::unordered_map<std::uint64_t, std::pair<Endpoint*, MemoryKey>> registered_;
};

}  // namespace thinwire::transports::contract
