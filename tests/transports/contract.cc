#include "tests/transports/contract.h"

#include <chrono>

namespace thinwire::transports::contract {

namespace {
constexpr auto kHangDeadline = std::chrono::seconds(60);
void discard_line(LogLevel, const char*, int, const char*) {}
}  // namespace

void PrintTo(const Case& the_case, std::ostream* out) { *out << the_case.name; }

std::string name_of(const ::testing::TestParamInfo<Case>& parameter) {
  return parameter.param.name;
}

Bytes pattern(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

void Contract::SetUp() {
  log_.set_sink(discard_line);
  transport_ = GetParam().make(GetParam().config, log_, clock_);
  ASSERT_NE(transport_, nullptr);
  const auto devices = transport_->probe();
  if (!devices.ok()) GTEST_SKIP() << transport_->name() << ": " << devices.status().text();
  auto left = transport_->open(0);
  const auto accepting = static_cast<std::size_t>(GetParam().accepting_device);
  if (accepting >= devices.value().size()) GTEST_SKIP() << "needs another device";
  auto right = transport_->open(GetParam().accepting_device);
  ASSERT_TRUE(left.ok()) << left.status().text();
  ASSERT_TRUE(right.ok()) << right.status().text();
  left_ = std::move(left).value();
  right_ = std::move(right).value();
}

void Contract::TearDown() {
  for (const auto& [cookie, registered] : registered_) {
    EXPECT_TRUE(registered.first->deregister_memory(registered.second).ok());
  }
  left_.reset();
  right_.reset();
  transport_.reset();
}

void Contract::collect(Endpoint& endpoint) {
  std::array<Completion, 16> polled;
  const std::size_t count = endpoint.poll(polled);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_new = completions_.emplace(polled[i].cookie, polled[i]).second;
    EXPECT_TRUE(is_new) << "cookie " << polled[i].cookie << " completed twice";
    const auto registered = registered_.find(polled[i].cookie);
    if (registered == registered_.end()) continue;
    const auto [owner, key] = registered->second;
    EXPECT_TRUE(owner->deregister_memory(key).ok());
    registered_.erase(registered);
  }
}

void Contract::poll_once() {
  collect(*left_);
  collect(*right_);
}

bool Contract::progress_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kHangDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "no progress";
      return false;
    }
    poll_once();
  }
  return true;
}

Link Contract::connect_link(std::span<const std::byte> hello) {
  auto listener = right_->listen();
  if (!listener.ok()) {
    ADD_FAILURE() << listener.status().text();
    return {};
  }
  return connect_link(*listener.value(), hello);
}

Link Contract::connect_link(Listener& listener, std::span<const std::byte> hello) {
  Link link{{left_.get(), nullptr}, {right_.get(), nullptr}};
  auto connected = left_->connect(listener.handle(), hello);
  if (!connected.ok()) {
    ADD_FAILURE() << connected.status().text();
    return link;
  }
  link.from.connection = std::move(connected).value();
  progress_until([&] {
    if (!link.to.connection) {
      auto accepted = right_->try_accept(listener);
      if (accepted.ok())
        link.to.connection = std::move(accepted).value();
      else
        EXPECT_TRUE(accepted.status().is_would_block()) << accepted.status().text();
    }
    EXPECT_FALSE(link.from.connection->state().failed());
    return link.to.connection && link.from.connection->state().ok() &&
           link.to.connection->state().ok();
  });
  return link;
}

template <class Post>
std::uint64_t Contract::post(Post&& attempt) {
  const std::uint64_t cookie = next_cookie_++;
  Status status;
  progress_until([&] {
    status = attempt(cookie);
    return !status.is_would_block();
  });
  EXPECT_TRUE(status.ok()) << status.text();
  return cookie;
}

std::uint64_t Contract::send(Side& side, std::span<const std::byte> data, std::uint64_t tag) {
  auto key = side.endpoint->register_memory(const_cast<std::byte*>(data.data()), data.size(),
                                            MemoryKind::host);
  EXPECT_TRUE(key.ok());
  const std::uint64_t cookie = post([&](std::uint64_t its_cookie) {
    return side.connection->post_send(data.data(), data.size(), tag, key.value(), its_cookie);
  });
  registered_.emplace(cookie, std::pair(side.endpoint, key.value()));
  return cookie;
}

std::uint64_t Contract::receive(Side& side, std::span<std::byte> buffer, std::uint64_t tag) {
  auto key = side.endpoint->register_memory(buffer.data(), buffer.size(), MemoryKind::host);
  EXPECT_TRUE(key.ok());
  const ReceiveBuffer one{buffer.data(), buffer.size(), tag, key.value()};
  const std::uint64_t cookie = receive_group(side, {&one, 1});
  registered_.emplace(cookie, std::pair(side.endpoint, key.value()));
  return cookie;
}

std::uint64_t Contract::receive_group(Side& side, std::span<const ReceiveBuffer> buffers) {
  return post([&](std::uint64_t cookie) { return side.connection->post_receive(buffers, cookie); });
}

bool Contract::wait_done(std::uint64_t cookie) {
  return progress_until([&] { return is_done(cookie); });
}

void Contract::exchange(Side& sender, Side& receiver, std::size_t count, std::uint64_t tag,
                        bool receive_first) {
  const Bytes sent = pattern(count, count + tag);
  Bytes got(count);
  std::uint64_t receive_cookie = 0;
  if (receive_first) receive_cookie = receive(receiver, got, tag);
  const std::uint64_t send_cookie = send(sender, sent, tag);
  if (!receive_first) {
    for (int i = 0; i < 8; ++i) poll_once();
    receive_cookie = receive(receiver, got, tag);
  }
  if (!wait_done(send_cookie) || !wait_done(receive_cookie)) return;
  EXPECT_TRUE(completion(send_cookie).status.ok());
  EXPECT_EQ(completion(send_cookie).bytes[0], count);
  EXPECT_TRUE(completion(receive_cookie).status.ok());
  EXPECT_EQ(completion(receive_cookie).count, 1);
  EXPECT_EQ(completion(receive_cookie).bytes[0], count);
  EXPECT_TRUE(got == sent) << count << " bytes differ";
}

}  // namespace thinwire::transports::contract
