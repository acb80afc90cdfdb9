// Several sockets of one connection, one of them slow: what counts is which socket carried what.
#include <linux/tcp.h>
#include <sys/socket.h>

#include <numeric>

#include "tests/transports/tcp_sockets.h"

namespace thinwire::transports::tcp {
namespace {

std::uint64_t bytes_sent_on(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  EXPECT_EQ(::getsockopt(fd, 6 /* IPPROTO_TCP */, TCP_INFO, &info, &length), 0);
  return info.tcpi_bytes_sent;
}

struct Striped {
  explicit Striped(int streams) : pair(config(streams), clock) {
    auto listener = pair.listen();
    connected = pair.connect(*listener);
    sockets = sockets_to(address_of(*listener).port);
  }
  static Config config(int streams) {
    Config config = loopback_config();
    config.tcp_streams = streams;
    config.tcp_chunk_bytes = 64 * 1024;
    config.tcp_socket_buffer_bytes = 128 * 1024;
    return config;
  }
  std::vector<std::uint64_t> carried() const {
    std::vector<std::uint64_t> bytes;
    for (const int fd : sockets) bytes.push_back(bytes_sent_on(fd));
    return bytes;
  }

  SteadyClock clock;
  TcpPair pair;
  bool connected = false;
  std::vector<int> sockets;  // of the connecting side
};

TEST(TcpStriping, AllSockets_CarrySomething) {
  Striped striped(4);
  ASSERT_TRUE(striped.connected);
  ASSERT_EQ(striped.sockets.size(), 4u);
  ASSERT_TRUE(striped.pair.transfer(64, 1 << 20));
  for (const std::uint64_t bytes : striped.carried()) EXPECT_GT(bytes, 1'000'000u);
}

TEST(TcpStriping, OneSocketPacedToACrawl_CarriesItsShareOnly) {
  Striped striped(4);
  ASSERT_TRUE(striped.connected);
  ASSERT_EQ(striped.sockets.size(), 4u);
  const unsigned int crawl = 256 * 1024;  // bytes a second
  ASSERT_EQ(::setsockopt(striped.sockets[1], SOL_SOCKET, SO_MAX_PACING_RATE, &crawl, sizeof crawl),
            0);
  ASSERT_TRUE(striped.pair.transfer(128, 1 << 20));
  const auto carried = striped.carried();
  const std::uint64_t total = std::accumulate(carried.begin(), carried.end(), std::uint64_t{0});
  EXPECT_GE(total, std::uint64_t{128} << 20);
  EXPECT_LT(carried[1], total / 50);
  EXPECT_LT(carried[1], 1024u * 1024);  // what it was given before it was known had to be little
  for (const std::size_t i : {0, 2, 3}) EXPECT_GT(carried[i], total / 100) << "socket " << i;
}

TEST(TcpStriping, SocketThatSlowsDownLater_IsAvoidedFromThen) {
  Striped striped(2);
  ASSERT_TRUE(striped.connected);
  ASSERT_TRUE(striped.pair.transfer(64, 1 << 20));
  const unsigned int crawl = 256 * 1024;
  ASSERT_EQ(::setsockopt(striped.sockets[0], SOL_SOCKET, SO_MAX_PACING_RATE, &crawl, sizeof crawl),
            0);
  const std::uint64_t before = striped.carried()[0];
  ASSERT_TRUE(striped.pair.transfer(128, 1 << 20));
  EXPECT_LT(striped.carried()[0] - before, 4'000'000u);
}

}  // namespace
}  // namespace thinwire::transports::tcp
