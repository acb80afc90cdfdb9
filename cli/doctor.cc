#include <cstdio>

#include "cli/checks.h"
#include "cli/commands.h"

namespace thinwire::cli {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "OK";
    case Verdict::warn:
      return "WARN";
    case Verdict::fail:
      break;
  }
  return "FAIL";
}

}  // namespace

Findings run_checks(const Facts& facts) {
  Findings findings;
  check_config(facts, findings);
  check_plugin(facts, findings);
  check_nccl_version(facts, findings);
  check_plugin_choice(facts, findings);
  check_network_name(facts, findings);
  check_collnet(facts, findings);
  check_algorithm(facts, findings);
  check_identity(facts, findings);
  check_interfaces(facts, findings);
  check_open_files(facts, findings);
  check_congestion(facts, findings);
  check_buffers(facts, findings);
  return findings;
}

int print_findings(const Findings& findings) {
  int counts[3] = {};
  for (const Finding& finding : findings) {
    ++counts[static_cast<int>(finding.verdict)];
    std::printf("%-4s  %-11s %s\n", name_of(finding.verdict), finding.subject.c_str(),
                finding.text.c_str());
    if (!finding.advice.empty()) std::printf("%18s-> %s\n", "", finding.advice.c_str());
  }
  std::printf("%d ok, %d warnings, %d failures\n", counts[0], counts[1], counts[2]);
  return counts[2] == 0 ? 0 : 1;
}

int run_doctor(const FactsOptions& options, const Log& log) {
  return print_findings(run_checks(collect_facts(options, log)));
}

}  // namespace thinwire::cli
