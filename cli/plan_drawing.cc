#include "cli/plan_drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

namespace thinwire::cli {
namespace {

using collectives::Plan;
using collectives::Step;
using collectives::StepKind;

constexpr int kLeft = 90;
constexpr int kTop = 60;
constexpr int kRow = 22;
constexpr int kColumn = 70;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Per rank and step: the messages that must have arrived before it is done.
class Rounds {
 public:
  explicit Rounds(const std::vector<Plan>& plans) : plans_(plans), done_(plans.size()) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      done_[rank].resize(plans[rank].steps.size());
    }
    while (pass()) {
    }
  }

  int of(int rank, std::size_t step) const { return done_[at(rank)][step]; }

 private:
  bool pass() {
    bool changed = false;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      for (std::size_t i = 0; i < plans_[rank].steps.size(); ++i) {
        const Step& step = plans_[rank].steps[i];
        int round = 0;
        for (const auto before : plans_[rank].dependencies_of(step)) {
          round = std::max(round, done_[rank][at(before)]);
        }
        if (step.kind == StepKind::send) {
          sent_[{static_cast<int>(rank), step.peer, step.message}] = round;
        } else if (step.kind == StepKind::receive) {
          const auto sent = sent_.find({step.peer, static_cast<int>(rank), step.message});
          if (sent != sent_.end()) round = std::max(round, sent->second + 1);
        }
        changed |= round != done_[rank][i];
        done_[rank][i] = round;
      }
    }
    return changed;
  }

  const std::vector<Plan>& plans_;
  std::vector<std::vector<int>> done_;
  std::map<std::tuple<int, int, int>, int> sent_;
};

template <class... Values>
void append(std::string& text, const char* format, Values... values) {
  char line[320];
  std::snprintf(line, sizeof(line), format, values...);
  text += line;
}

void draw_rows(std::string& svg, const collectives::Layout& layout, int width) {
  int shaded = 0;
  for (int place = 0; place < layout.ranks(); ++place) {
    const int rank = layout.rank_at(place);
    const int host = layout.host(rank);
    if (place > 0 && layout.host(layout.rank_at(place - 1)) != host) ++shaded;
    const int y = kTop + place * kRow;
    append(svg, "<rect x='0' y='%d' width='%d' height='%d' fill='%s'/>\n", y, width, kRow,
           shaded % 2 == 0 ? "#f4f6f8" : "#ffffff");
    append(svg, "<text x='6' y='%d'>rank %d, host %d</text>\n", y + 15, rank, host);
  }
}

void draw_message(std::string& svg, const DrawnMessage& message,
                  const collectives::Layout& layout) {
  const int hue = message.piece * 360 / layout.ranks();
  const int x = kLeft + message.round * kColumn;
  const auto y_of = [&](int rank) { return kTop + layout.place_of(rank) * kRow + kRow / 2; };
  append(svg,
         "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='hsl(%d,70%%,40%%)' marker-end='url(#to)'>"
         "<title>round %d: rank %d sends piece %d to rank %d</title></line>\n",
         x + 6, y_of(message.from), x + kColumn - 8, y_of(message.to), hue, message.round + 1,
         message.from, message.piece, message.to);
}

}  // namespace

std::vector<DrawnMessage> messages_by_round(const std::vector<Plan>& plans) {
  const Rounds rounds(plans);
  std::vector<DrawnMessage> messages;
  for (const Plan& plan : plans) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      if (step.kind != StepKind::send) continue;
      messages.push_back({plan.rank, step.peer, step.piece, rounds.of(plan.rank, i)});
    }
  }
  std::stable_sort(messages.begin(), messages.end(),
                   [](const DrawnMessage& a, const DrawnMessage& b) { return a.round < b.round; });
  return messages;
}

std::string svg_of(const std::vector<DrawnMessage>& messages, const collectives::Layout& layout,
                   const std::string& title) {
  const int rounds = messages.empty() ? 1 : messages.back().round + 1;
  const int drawn = std::min(rounds, kMaxDrawnRounds);
  const int width = kLeft + drawn * kColumn + 20;
  std::string svg;
  append(svg,
         "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
         "font-size='10'>\n",
         width, kTop + layout.ranks() * kRow + 10);
  svg +=
      "<defs><marker id='to' markerWidth='6' markerHeight='6' refX='5' refY='3' orient='auto'>"
      "<path d='M0,0 L6,3 L0,6 z'/></marker></defs>\n";
  svg += "<text x='6' y='20' font-size='14'>" + title + "</text>\n";
  draw_rows(svg, layout, width);
  for (int round = 0; round < drawn; ++round) {
    append(svg, "<text x='%d' y='%d'>round %d of %d</text>\n", kLeft + round * kColumn, kTop - 8,
           round + 1, rounds);
  }
  for (const DrawnMessage& message : messages) {
    if (message.round < drawn) draw_message(svg, message, layout);
  }
  return svg + "</svg>\n";
}

}  // namespace thinwire::cli
