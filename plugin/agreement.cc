#include "plugin/agreement.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace thinwire::plugin {

namespace {

constexpr std::size_t kMaxVariants = 8;     // of settings, carried with their ranks
constexpr std::size_t kMaxRanksNamed = 64;  // per variant
constexpr std::size_t kMaxFailures = 8;
constexpr std::size_t kMaxFailureBytes = 512;
constexpr std::size_t kMaxVerdictBytes = 2048;

// Above every tag the Engine uses.
std::uint64_t tag_of(int round, bool down) {
  return ~std::uint64_t{0} - static_cast<std::uint64_t>(2 * round + (down ? 1 : 0));
}

void put(std::string& out, const std::string& field) {
  out += std::to_string(field.size()) + ":" + field;
}

// Fields are length:bytes; anything else ends the reading with ok == false.
struct Reader {
  const std::string& bytes;
  std::size_t at = 0;
  bool ok = true;

  std::string next() {
    std::size_t length = 0;
    const char* begin = bytes.data() + at;
    const char* end = bytes.data() + bytes.size();
    const auto [after, error] = std::from_chars(begin, end, length);
    if (error != std::errc{} || after == end || *after != ':' ||
        length > static_cast<std::size_t>(end - after - 1)) {
      ok = false;
      return "";
    }
    at = static_cast<std::size_t>(after + 1 - bytes.data()) + length;
    return std::string(after + 1, length);
  }
  int next_int() {
    const std::string field = next();
    int value = -1;
    const auto [after, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || after != field.data() + field.size() || value < 0) ok = false;
    return value;
  }
};

void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t number_at(const std::string& bytes, std::size_t at, int length) {
  std::uint64_t value = 0;
  for (int i = 0; i < length; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)])}
             << (8 * i);
  }
  return value;
}

constexpr int kRankBytes = 4;
constexpr int kHostBytes = 8;
constexpr int kRackBytes = 4;
constexpr std::size_t kPlaceBytes = kHostBytes + kRackBytes;

void put_place(std::string& out, const Whereabouts& place) {
  put_number(out, place.host, kHostBytes);
  put_number(out, place.rack, kRackBytes);
}

Whereabouts place_at(const std::string& bytes, std::size_t at) {
  return {number_at(bytes, at, kHostBytes),
          static_cast<std::uint32_t>(number_at(bytes, at + kHostBytes, kRackBytes))};
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// NAME -> value -> ranks, of the settings that differ.
std::string differences(const Ballot& all) {
  std::map<std::string, std::map<std::string, std::vector<int>>> by_name;
  for (const auto& [settings, ranks] : all.settings) {
    for (const std::string& line : lines_of(settings)) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos) continue;
      auto& named = by_name[line.substr(0, equals)][line.substr(equals + 1)];
      named.insert(named.end(), ranks.begin(), ranks.end());
    }
  }
  std::string text;
  for (auto& [name, values] : by_name) {
    if (values.size() < 2) continue;
    text += (text.empty() ? "" : "; ") + name + " differs:";
    for (auto& [value, ranks] : values) {
      std::sort(ranks.begin(), ranks.end());
      text += " '" + value + "' on " + rank_list(ranks);
    }
  }
  return text.empty() ? "settings differ" : text;
}

std::string encode(const Verdict& verdict) {
  std::string out;
  put(out, std::to_string(static_cast<int>(verdict.code)));
  put(out, verdict.text.substr(0, kMaxVerdictBytes));
  std::string places;
  for (const Whereabouts& place : verdict.places) put_place(places, place);
  put(out, places);
  return out;
}

Verdict decode_verdict(const std::string& bytes) {
  Reader reader{bytes};
  const int code = reader.next_int();
  std::string text = reader.next();
  const std::string places = reader.next();
  if (!reader.ok || code > static_cast<int>(Code::internal_error) ||
      places.size() % kPlaceBytes != 0) {
    return {Code::peer_lost, "a verdict that cannot be read"};
  }
  Verdict verdict{static_cast<Code>(code), std::move(text)};
  for (std::size_t at = 0; at < places.size(); at += kPlaceBytes) {
    verdict.places.push_back(place_at(places, at));
  }
  return verdict;
}

// What this rank and everything below it says.
Ballot gather(GroupLinks& links, int round, const Ballot& mine, std::int64_t deadline_ns) {
  Ballot all = mine;
  for (const int child : children_of(links.rank(), links.ranks())) {
    if (!links.linked(child)) continue;  // already among our failures
    auto bytes = links.receive(child, tag_of(round, false), deadline_ns);
    Ballot theirs;
    if (bytes.ok() && Ballot::decode(bytes.value(), &theirs)) {
      all.merge(theirs);
    } else {
      all.failures.emplace(
          links.rank(), "lost rank " + std::to_string(child) + " (" + bytes.status().text() + ")");
    }
  }
  return all;
}

Verdict ask_parent(GroupLinks& links, int round, const Ballot& subtree, std::int64_t deadline_ns) {
  const int parent = parent_of(links.rank());
  const auto lost = [&](const char* why) {
    return Verdict{Code::peer_lost, "lost rank " + std::to_string(parent) + " (" + why + ")"};
  };
  if (!links.linked(parent)) return lost("no connection");
  const Status sent = links.send(parent, tag_of(round, false), subtree.encode(), deadline_ns);
  if (!sent.ok()) return lost(sent.text());
  auto bytes = links.receive(parent, tag_of(round, true), deadline_ns);
  if (!bytes.ok()) return lost(bytes.status().text());
  return decode_verdict(bytes.value());
}

}  // namespace

void Ballot::merge(const Ballot& other) {
  for (const auto& [text, ranks] : other.settings) {
    if (settings.size() >= kMaxVariants && !settings.contains(text)) continue;
    auto& mine = settings[text];
    mine.insert(mine.end(), ranks.begin(), ranks.end());
    std::sort(mine.begin(), mine.end());
    if (mine.size() > kMaxRanksNamed) mine.resize(kMaxRanksNamed);
  }
  for (const auto& [rank, what] : other.failures) {
    if (failures.size() < kMaxFailures) failures.emplace(rank, what);
  }
  places.insert(other.places.begin(), other.places.end());
}

std::string Ballot::encode() const {
  std::string out;
  put(out, std::to_string(settings.size()));
  for (const auto& [text, ranks] : settings) {
    put(out, text);
    put(out, std::to_string(ranks.size()));
    for (const int rank : ranks) put(out, std::to_string(rank));
  }
  put(out, std::to_string(failures.size()));
  for (const auto& [rank, what] : failures) {
    put(out, std::to_string(rank));
    put(out, what.substr(0, kMaxFailureBytes));
  }
  std::string where;
  for (const auto& [rank, place] : places) {
    put_number(where, static_cast<std::uint64_t>(rank), kRankBytes);
    put_place(where, place);
  }
  put(out, where);
  return out;
}

bool Ballot::decode(const std::string& bytes, Ballot* out) {
  Reader reader{bytes};
  for (int variants = reader.next_int(); reader.ok && variants > 0; --variants) {
    const std::string text = reader.next();
    auto& ranks = out->settings[text];
    for (int count = reader.next_int(); reader.ok && count > 0; --count) {
      ranks.push_back(reader.next_int());
    }
  }
  for (int count = reader.ok ? reader.next_int() : 0; reader.ok && count > 0; --count) {
    const int rank = reader.next_int();
    out->failures.emplace(rank, reader.next());
  }
  const std::string where = reader.ok ? reader.next() : "";
  constexpr std::size_t kEntryBytes = kRankBytes + kPlaceBytes;
  if (!reader.ok || reader.at != bytes.size() || where.size() % kEntryBytes != 0) return false;
  for (std::size_t at = 0; at < where.size(); at += kEntryBytes) {
    out->places[static_cast<int>(number_at(where, at, kRankBytes))] =
        place_at(where, at + kRankBytes);
  }
  return true;
}

Verdict judge(const Ballot& all) {
  if (!all.failures.empty()) {
    std::string text;
    for (const auto& [rank, what] : all.failures) {
      text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + " says: " + what;
    }
    return {Code::peer_lost, text};
  }
  if (all.settings.size() > 1) return {Code::invalid_config, differences(all)};
  return {};
}

int parent_of(int rank) { return rank == 0 ? -1 : (rank - 1) / 2; }

std::vector<int> children_of(int rank, int ranks) {
  std::vector<int> children;
  for (const int child : {2 * rank + 1, 2 * rank + 2}) {
    if (child < ranks) children.push_back(child);
  }
  return children;
}

std::vector<int> tree_peers(int rank, int ranks) {
  std::vector<int> peers = children_of(rank, ranks);
  if (rank > 0) peers.push_back(parent_of(rank));
  return peers;
}

Verdict agree(GroupLinks& links, int round, const Ballot& mine, const Deadlines& deadlines) {
  const Ballot subtree = gather(links, round, mine, deadlines.ballots_ns);
  Verdict verdict =
      links.rank() == 0 ? judge(subtree) : ask_parent(links, round, subtree, deadlines.verdict_ns);
  const bool all_placed = subtree.places.size() == static_cast<std::size_t>(links.ranks());
  if (links.rank() == 0 && verdict.code == Code::ok && all_placed) {
    for (const auto& [rank, place] : subtree.places) verdict.places.push_back(place);
  }
  for (const int child : children_of(links.rank(), links.ranks())) {
    if (!links.linked(child)) continue;
    const Status sent =
        links.send(child, tag_of(round, true), encode(verdict), deadlines.verdict_ns);
    // A child that dies now is found by the first operation; the group stands.
    (void)sent.ok();
  }
  return verdict;
}

}  // namespace thinwire::plugin
