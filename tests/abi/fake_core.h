// A core that only remembers what it was asked, so that tests see what the tables translate to.
// Owner: the test executable; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "plugin/core.h"

namespace thinwire::plugin::fake {

struct Call {
  std::string name;
  void* context = nullptr;  // ctx or comm
  int count = 0;            // receives, parts
  std::array<std::size_t, 8> bytes{};
  std::array<void*, 8> addresses{};
  std::array<void*, 8> mhandles{};
  int traffic_class = 0;
  std::uint64_t comm_id = 0;
  Attributes attributes{};
  CommunicatorInfo comm{};
  CollectiveEvent collective{};
  ProxyOpEvent part{};
};

struct Core {
  Call last;
  Properties properties{};
  thinwire_counters_v1_t counters{};
  bool throws = false;
};

// The one that the functions of core.h use; reset() before each test.
Core& core();
void reset();

}  // namespace thinwire::plugin::fake
