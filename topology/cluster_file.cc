#include "topology/cluster_file.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "topology/host_list.h"
#include "topology/text_file.h"

namespace thinwire::topology {
namespace {

constexpr std::size_t kMaxClusterFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxHosts = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 64;  // of groups in groups
constexpr std::string_view kBlank = " \t\r";

struct Line {
  int number = 0;  // the first physical line of it
  std::string text;
};

// A group as one line defines it.
struct Definition {
  int line = 0;
  std::string name;
  std::vector<std::string> groups;   // must be defined elsewhere
  std::vector<std::string> hosts;    // must not
  std::vector<std::string> members;  // either: a host unless some line defines it
};

struct Problem {
  int line = 0;
  std::string text;  // empty: none
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Without comments and continuations; empty lines are left out.
std::vector<Line> logical_lines(std::string_view text) {
  std::vector<Line> lines;
  bool continued = false;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view physical = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    physical = trimmed(physical.substr(0, physical.find('#')));
    const bool continues = physical.ends_with('\\');
    if (continues) physical.remove_suffix(1);
    if (!continued) lines.push_back({number, {}});
    lines.back().text += std::string(physical);
    if (continues) lines.back().text += ' ';
    continued = continues;
  }
  std::erase_if(lines, [](const Line& line) { return trimmed(line.text).empty(); });
  return lines;
}

std::string expand_into(std::string_view text, std::vector<std::string>& out) {
  HostList list = expand_host_list(text);
  out.insert(out.end(), std::make_move_iterator(list.names.begin()),
             std::make_move_iterator(list.names.end()));
  return std::move(list.error);
}

std::string set_name(std::string_view text, Definition& definition) {
  const HostList list = expand_host_list(text);
  if (!list.error.empty()) return list.error;
  if (list.names.size() != 1) return "a line defines one name, not a list";
  definition.name = list.names.front();
  return {};
}

std::string apply_slurm_key(std::string_view key, std::string_view value, Definition& definition) {
  const std::string known = lowered(key);
  if (known == "switchname" || known == "blockname") return set_name(value, definition);
  if (known == "nodes") return expand_into(value, definition.hosts);
  if (known == "switches") return expand_into(value, definition.groups);
  if (known == "linkspeed") return {};
  return "unknown key '" + std::string(key.substr(0, 60)) +
         "'; accepted are SwitchName, Switches, Nodes and LinkSpeed";
}

std::string parse_slurm_line(std::string_view text, Definition& definition) {
  while (!(text = trimmed(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals + 1 == word.size()) {
      return "'" + std::string(word.substr(0, 60)) + "' is not KEY=value";
    }
    std::string error =
        apply_slurm_key(word.substr(0, equals), word.substr(equals + 1), definition);
    if (!error.empty()) return error;
  }
  if (definition.name.empty()) return "SwitchName= is missing";
  if (definition.hosts.empty() && definition.groups.empty()) {
    return "neither Nodes= nor Switches= is given";
  }
  return {};
}

std::string parse_own_line(std::string_view text, Definition& definition) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return "expected 'GROUP: member, member, ...'";
  std::string error = set_name(trimmed(text.substr(0, colon)), definition);
  if (!error.empty()) return error;
  // Blanks separate as commas do.
  std::string members;
  for (const char c : trimmed(text.substr(colon + 1))) {
    const bool separates = c == ',' || kBlank.find(c) != std::string_view::npos;
    if (separates && c != ',' && (members.empty() || members.back() == ',')) continue;
    if (c == ',' && members.ends_with(',') && members.size() > 1) {
      return "an empty name between two commas";
    }
    members += separates ? ',' : c;
  }
  if (members.empty()) return "the group has no members";
  return expand_into(members, definition.members);
}

Problem parse_lines(const std::vector<Line>& lines, std::vector<Definition>& out) {
  if (lines.empty()) return {1, "the file defines nothing"};
  const bool slurm = lines.front().text.find('=') != std::string::npos;
  std::size_t names = 0;
  for (const Line& line : lines) {
    Definition definition{
        .line = line.number, .name = {}, .groups = {}, .hosts = {}, .members = {}};
    // Of the block plugin: how blocks are aggregated, nothing about who is where.
    if (slurm && lowered(trimmed(line.text)).starts_with("blocksizes=")) continue;
    std::string error =
        slurm ? parse_slurm_line(line.text, definition) : parse_own_line(line.text, definition);
    if (!error.empty()) return {line.number, std::move(error)};
    names += definition.hosts.size() + definition.members.size();
    if (names > kMaxHosts) return {line.number, "more than 1048576 hosts in all"};
    out.push_back(std::move(definition));
  }
  return {};
}

// Makes the view of the definitions, checking what a single line cannot show.
class Assembly {
 public:
  explicit Assembly(const std::vector<Definition>& definitions) : definitions_(definitions) {}

  Problem run() {
    for (const Definition& definition : definitions_) {
      const auto [other, fresh] = index_.emplace(definition.name, static_cast<int>(groups_.size()));
      if (!fresh) return twice(definition.line, "group", definition.name, other->second);
      groups_.push_back({definition.name, -1});
    }
    for (std::size_t at = 0; at < definitions_.size(); ++at) {
      Problem problem = add_members(static_cast<int>(at));
      if (!problem.text.empty()) return problem;
    }
    if (hosts_.empty()) return {definitions_.front().line, "no line names a host"};
    return find_loop();
  }

  ClusterView view() && { return {std::move(groups_), std::move(hosts_)}; }

 private:
  Problem twice(int line, const char* what, const std::string& name, int earlier) const {
    return {line, std::string(what) + " '" + name + "' is named twice, first in line " +
                      std::to_string(definitions_[static_cast<std::size_t>(earlier)].line)};
  }

  Problem add_members(int at) {
    const Definition& definition = definitions_[static_cast<std::size_t>(at)];
    Problem problem;
    for (const std::string& name : definition.groups) {
      if (problem.text.empty()) problem = add_group(at, name);
    }
    for (const std::string& name : definition.hosts) {
      if (problem.text.empty()) problem = add_host(at, name);
    }
    for (const std::string& name : definition.members) {
      if (!problem.text.empty()) break;
      problem = index_.contains(name) ? add_group(at, name) : add_host(at, name);
    }
    return problem;
  }

  Problem add_group(int at, const std::string& name) {
    const int line = definitions_[static_cast<std::size_t>(at)].line;
    const auto found = index_.find(name);
    if (found == index_.end()) return {line, "switch '" + name + "' is defined nowhere"};
    ClusterView::Group& group = groups_[static_cast<std::size_t>(found->second)];
    if (group.parent >= 0) return twice(line, "member", name, group.parent);
    group.parent = at;
    return {};
  }

  Problem add_host(int at, const std::string& name) {
    const auto [other, fresh] = hosts_.emplace(name, at);
    if (fresh) return {};
    return twice(definitions_[static_cast<std::size_t>(at)].line, "host", name, other->second);
  }

  Problem find_loop() const {
    for (std::size_t start = 0; start < groups_.size(); ++start) {
      std::size_t steps = 0;
      for (int at = groups_[start].parent; at >= 0;
           at = groups_[static_cast<std::size_t>(at)].parent) {
        if (++steps > groups_.size() || at == static_cast<int>(start)) {
          return {definitions_[start].line,
                  "group '" + groups_[start].name + "' is contained in itself"};
        }
        if (steps > kMaxDepth) {
          return {definitions_[start].line,
                  "group '" + groups_[start].name + "' is in more than 64 others, one in another"};
        }
      }
    }
    return {};
  }

  const std::vector<Definition>& definitions_;
  std::vector<ClusterView::Group> groups_;  // in the order of the definitions
  std::map<std::string, int> index_;
  std::map<std::string, int, std::less<>> hosts_;
};

}  // namespace

Result<ClusterView> parse_cluster_text(std::string_view text, const std::string& name,
                                       const Log& log) {
  std::vector<Definition> definitions;
  Problem problem = parse_lines(logical_lines(text), definitions);
  Assembly assembly(definitions);
  if (problem.text.empty()) problem = assembly.run();
  if (problem.text.empty()) return std::move(assembly).view();
  THINWIRE_WARN(log, "%s:%d: %s", name.c_str(), problem.line, problem.text.c_str());
  return Status(Code::invalid_config, "the cluster file is malformed");
}

Result<ClusterView> read_cluster_file(const std::string& path, const Log& log) {
  if (path.empty()) return ClusterView();
  const auto text = read_text_file(path, kMaxClusterFileBytes, "THINWIRE_CLUSTER_FILE", log);
  if (!text.ok()) return text.status();
  return parse_cluster_text(text.value(), path, log);
}

}  // namespace thinwire::topology
