#include <strings.h>

#include <algorithm>

#include "cli/checks.h"

namespace thinwire::cli {
namespace {

constexpr int kOldestNccl = 21700;
constexpr int kProfilesCollNet = 22703;       // the first that reports CollNet's operations
constexpr int kProfilerInNetLibrary = 22803;  // the first that finds the profiler there

std::string variable(const Facts& facts, std::string_view name) {
  return value_of(facts.environment, name);
}

bool equal_ignoring_case(const std::string& a, const char* b) {
  return strcasecmp(a.c_str(), b) == 0;
}

bool contains_ignoring_case(std::string text, std::string_view wanted) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find(wanted) != std::string::npos;
}

bool is_thinwire(const LibraryFacts& library) {
  return equal_ignoring_case(library.net_name, "Thinwire");
}

// NCCL forgets the plugin's name after the last communicator and then takes libnccl-net.so.
bool forgets_the_plugin(int version) { return version >= 22803 && version <= 22907; }

std::string folder_of(const LibraryFacts& library) {
  const std::size_t slash = library.path.rfind('/');
  return slash == std::string::npos ? "the library's folder" : library.path.substr(0, slash);
}

const LibraryFacts* first_loaded(const Facts& facts) {
  for (const LibraryFacts& library : facts.candidates) {
    if (!library.path.empty()) return &library;
  }
  return nullptr;
}

void check_forgetting(const Facts& facts, Findings& out) {
  if (!forgets_the_plugin(facts.nccl.version) ||
      variable(facts, "NCCL_NET_PLUGIN_REF_COUNT") == "1" ||
      variable(facts, "NCCL_NET_PLUGIN").empty()) {
    return;
  }
  if (is_thinwire(inspect_library("libnccl-net.so"))) return;
  out.push_back({Verdict::warn, "reload",
                 "NCCL " + version_text(facts.nccl.version) +
                     " forgets NCCL_NET_PLUGIN once a job has destroyed all its communicators",
                 "set NCCL_NET_PLUGIN_REF_COUNT=1"});
}

bool collnet_enabled(const Facts& facts) { return variable(facts, "NCCL_COLLNET_ENABLE") == "1"; }

void check_node_threshold(const Facts& facts, Findings& out) {
  const std::string threshold = variable(facts, "NCCL_COLLNET_NODE_THRESHOLD");
  if (threshold.empty() || threshold == "2") return;
  out.push_back({Verdict::warn, "collnet",
                 "NCCL_COLLNET_NODE_THRESHOLD=" + threshold + ": smaller jobs do not use CollNet",
                 "unset it, the default is 2 nodes"});
}

}  // namespace

std::string version_text(int version) {
  if (version == 0) return "unknown";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void check_plugin(const Facts& facts, Findings& out) {
  const LibraryFacts& library = facts.plugin;
  if (library.path.empty()) {
    out.push_back({Verdict::fail, "library", library.error,
                   "install the package, or add the library's folder to LD_LIBRARY_PATH"});
  } else if (!is_thinwire(library)) {
    out.push_back({Verdict::fail, "library", library.path + " is not Thinwire", "check --plugin"});
  } else {
    out.push_back({Verdict::ok, "library",
                   library.path + ", " + std::to_string(library.tables.size()) +
                       " tables, newest " + library.tables.front(),
                   ""});
  }
}

void check_nccl_version(const Facts& facts, Findings& out) {
  if (facts.nccl.path.empty()) {
    out.push_back({Verdict::warn, "nccl",
                   "no libnccl.so.2 found; rules of the newest version are assumed",
                   "run this in the job's environment, or give --nccl PATH"});
    return;
  }
  const std::string text = version_text(facts.nccl.version) + " (" + facts.nccl.path + ")";
  if (facts.nccl.version >= kOldestNccl) {
    out.push_back({Verdict::ok, "nccl", text, ""});
    return;
  }
  out.push_back({Verdict::warn, "nccl", text + " is older than any that Thinwire knows",
                 "use NCCL 2.17 or newer"});
}

void check_plugin_choice(const Facts& facts, Findings& out) {
  const std::string choice = variable(facts, "NCCL_NET_PLUGIN");
  const std::string shown =
      choice.empty() ? "NCCL_NET_PLUGIN is not set" : "NCCL_NET_PLUGIN=" + choice;
  const LibraryFacts* loaded = first_loaded(facts);
  if (loaded == nullptr) {
    const std::string advice = choice.empty() || choice == "none"
                                   ? "set NCCL_NET_PLUGIN=thinwire"
                                   : "set NCCL_NET_PLUGIN=thinwire and let LD_LIBRARY_PATH "
                                     "contain " +
                                         folder_of(facts.plugin);
    out.push_back({Verdict::fail, "choice", shown + ": NCCL finds no plugin", advice});
    return;
  }
  if (!is_thinwire(*loaded)) {
    out.push_back({Verdict::fail, "choice", shown + ": NCCL loads " + loaded->path + " instead",
                   "set NCCL_NET_PLUGIN=thinwire"});
    return;
  }
  out.push_back({Verdict::ok, "choice", shown + ": NCCL loads " + loaded->path, ""});
  check_forgetting(facts, out);
}

void check_network_name(const Facts& facts, Findings& out) {
  const std::string name = variable(facts, "NCCL_NET");
  if (name.empty()) {
    out.push_back({Verdict::warn, "network",
                   "NCCL_NET is not set: if the plugin fails, NCCL silently uses its own network",
                   "set NCCL_NET=Thinwire, which makes that an error"});
  } else if (equal_ignoring_case(name, "Thinwire")) {
    out.push_back({Verdict::ok, "network", "NCCL_NET=" + name, ""});
  } else {
    out.push_back({Verdict::fail, "network", "NCCL_NET=" + name + " chooses another network",
                   "set NCCL_NET=Thinwire"});
  }
}

void check_collnet(const Facts& facts, Findings& out) {
  const bool compresses = facts.config && facts.config->config.compress != "none";
  if (!collnet_enabled(facts)) {
    out.push_back({compresses ? Verdict::fail : Verdict::warn, "collnet",
                   compresses ? "THINWIRE_COMPRESS has no effect: CollNet is off"
                              : "off: NCCL uses Thinwire for point-to-point traffic only",
                   "set NCCL_COLLNET_ENABLE=1"});
    return;
  }
  std::string text = "NCCL_COLLNET_ENABLE=1";
  if (facts.nccl.version >= 22200 && variable(facts, "NCCL_COMM_SPLIT_SHARE_RESOURCES") != "1") {
    text +=
        "; communicators made by ncclCommSplit use it only with "
        "NCCL_COMM_SPLIT_SHARE_RESOURCES=1 where they span as many nodes as their parent";
  }
  if (facts.nccl.version >= 23003) {
    text += "; this NCCL aborts a job in which only some nodes offer CollNet: check every node";
  }
  out.push_back({Verdict::ok, "collnet", text, ""});
  check_node_threshold(facts, out);
}

// What top-k and error feedback live on.
void check_identity(const Facts& facts, Findings& out) {
  if (!facts.config || facts.config->config.compress == "none" ||
      facts.config->config.ef_identity != IdentityChoice::profiler) {
    return;
  }
  const std::string choice = variable(facts, "NCCL_PROFILER_PLUGIN");
  const std::string shown =
      choice.empty() ? "NCCL_PROFILER_PLUGIN is not set" : "NCCL_PROFILER_PLUGIN=" + choice;
  const int version = facts.nccl.version;
  if (version != 0 && version < kProfilesCollNet) {
    out.push_back({Verdict::warn, "identity",
                   "NCCL " + version_text(version) +
                       " does not say which tensor a sum belongs to: no error feedback, no topk",
                   "use NCCL 2.27.3 or newer"});
  } else if (!choice.empty() && !contains_ignoring_case(choice, "thinwire")) {
    out.push_back({Verdict::warn, "identity",
                   shown + " takes the profiler's place: no error feedback, no topk",
                   "unset it or set NCCL_PROFILER_PLUGIN=thinwire"});
  } else if (choice.empty() && version != 0 && version < kProfilerInNetLibrary) {
    out.push_back({Verdict::warn, "identity",
                   shown + ", which NCCL " + version_text(version) + " needs: no error feedback",
                   "set NCCL_PROFILER_PLUGIN=thinwire"});
  } else {
    out.push_back({Verdict::ok, "identity", shown, ""});
  }
}

void check_algorithm(const Facts& facts, Findings& out) {
  const std::string algorithm = variable(facts, "NCCL_ALGO");
  if (algorithm.empty() || !collnet_enabled(facts)) return;
  const std::string shown = "NCCL_ALGO=" + algorithm;
  const bool collnet = contains_ignoring_case(algorithm, "collnet");
  const bool per_function = algorithm.find(':') != std::string::npos;
  if (per_function && facts.nccl.version != 0 && facts.nccl.version < 22400) {
    out.push_back({Verdict::fail, "algorithm", shown + " is a form that NCCL knows from 2.24 on",
                   "unset NCCL_ALGO"});
  } else if (algorithm[0] == '^' ? collnet : !collnet) {
    out.push_back(
        {Verdict::warn, "algorithm", shown + " keeps NCCL from using CollNet", "unset NCCL_ALGO"});
  } else if (algorithm[0] != '^' && !per_function && !contains_ignoring_case(algorithm, "ring")) {
    out.push_back({Verdict::warn, "algorithm",
                   shown + " also takes Ring from every other collective, which then fail",
                   "add Ring to the list, or from NCCL 2.24 on allreduce:collnetdirect"});
  } else {
    out.push_back({Verdict::ok, "algorithm", shown, ""});
  }
}

}  // namespace thinwire::cli
