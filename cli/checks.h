// The checks of `thinwire doctor`: pure functions from Facts to findings. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/facts.h"

namespace thinwire::cli {

enum class Verdict { ok, warn, fail };

struct Finding {
  Verdict verdict{};
  std::string subject;
  std::string text;
  std::string advice;  // what to do; "" where nothing is needed
};

using Findings = std::vector<Finding>;

void check_config(const Facts& facts, Findings& out);
void check_plugin(const Facts& facts, Findings& out);
void check_nccl_version(const Facts& facts, Findings& out);
void check_plugin_choice(const Facts& facts, Findings& out);
void check_network_name(const Facts& facts, Findings& out);
void check_collnet(const Facts& facts, Findings& out);
void check_algorithm(const Facts& facts, Findings& out);
void check_identity(const Facts& facts, Findings& out);
void check_interfaces(const Facts& facts, Findings& out);
void check_open_files(const Facts& facts, Findings& out);
void check_congestion(const Facts& facts, Findings& out);
void check_buffers(const Facts& facts, Findings& out);

// All of them, in the order in which they are shown.
Findings run_checks(const Facts& facts);

// "2.28.9"; "unknown" for 0.
std::string version_text(int version);

// Prints one line a finding and a summary; the exit status: 1 when one failed, else 0.
int print_findings(const Findings& findings);

}  // namespace thinwire::cli
