// The described machines (make_machines.py), and folders for files. One test, one thread.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/base/captured_log.h"
#include "topology/discover.h"

namespace thinwire::topology {

inline std::string machine_file(const std::string& name) {
  return std::string(THINWIRE_TEST_MACHINES) + "/" + name + ".xml";
}

inline Topology load_machine(const std::string& name) {
  const testing::CapturedLog log;
  DiscoverOptions options;
  options.xml_file = machine_file(name);
  auto topology = discover(options, log.log());
  EXPECT_TRUE(topology.ok()) << log.text();
  return topology.ok() ? std::move(topology).value() : Topology();
}

// Goes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("thinwire_topology_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace thinwire::topology
