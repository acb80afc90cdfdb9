#include "collectives/cost_model.h"

#include <algorithm>
#include <span>

#include "collectives/geometry.h"
#include "collectives/schedules/exchange.h"

namespace thinwire::collectives {
namespace {

// Steps of one kind, of one tile. Pieces are those of the vector, one a rank.
struct Phase {
  int steps = 0;
  int level = 0;            // of the step's slowest message
  double messages = 1;      // that a rank sends in a step
  double pieces = 1;        // that a rank sends in a step
  double nic_pieces = 0;    // that all ranks of a host send to other hosts in a step
  double local_pieces = 0;  // that a rank sends within its host in a step
  bool sums = false;        // what arrives is added; else it is passed on or kept
  bool encodes = true;      // what is sent is encoded for it
  bool fans_in = false;     // several senders meet at one receiver's link
};

// More than the deepest tree and the grid of most sides have, there and back.
class Phases {
 public:
  void push_back(const Phase& phase) { all_[count_++] = phase; }
  std::size_t size() const { return count_; }
  Phase& operator[](std::size_t index) { return all_[index]; }
  const Phase* begin() const { return all_.data(); }
  const Phase* end() const { return all_.data() + count_; }

 private:
  std::array<Phase, 72> all_;
  std::size_t count_ = 0;
};

class Schedule {
 public:
  Schedule(const Shape& shape, double filled_pieces) : shape_(shape), filled_(filled_pieces) {}

  const Phases& phases(ScheduleKind kind, std::span<const int> grid) {
    switch (kind) {
      case ScheduleKind::ring:
        ring();
        break;
      case ScheduleKind::direct:
        direct();
        break;
      case ScheduleKind::exchange:
        if (shape_.ranks <= kMaxExchangeRanks) return exchange();
        direct();
        break;
      case ScheduleKind::grid:
        rows(grid, shape_.ranks, shape_.ranks_per_host);
        break;
      case ScheduleKind::tree:
        tree();
        break;
      default:
        hierarchical(kind, grid);
        break;
    }
    mirror();
    return phases_;
  }

 private:
  int beyond() const { return shape_.hosts > 1 ? shape_.widest : kWithinHost; }
  double outside(double messages) const { return shape_.hosts > 1 ? messages : 0; }

  // The sums take the same way back, and are encoded once, by their owners.
  void mirror() {
    for (std::size_t i = phases_.size(); i-- > 0;) {
      Phase back = phases_[i];
      back.sums = false;
      back.encodes = false;
      phases_.push_back(back);
    }
  }

  // Between hosts goes one of as many hops as a host has ranks; each link is used in all of them.
  void ring() {
    const int hops = shape_.ranks - 1;
    const int far = shape_.hosts > 1 ? std::min(hops, shape_.hosts) : 0;
    const double share = std::min(1.0, filled_ / hops);
    Phase phase{.pieces = share, .nic_pieces = outside(share), .local_pieces = share, .sums = true};
    phase.steps = far;
    phase.level = beyond();
    if (far > 0) phases_.push_back(phase);
    phase.steps = hops - far;
    phase.level = kWithinHost;
    if (phase.steps > 0) phases_.push_back(phase);
  }

  // A short vector's pieces all meet at a few owners.
  void direct() {
    const double others = shape_.ranks - 1;
    const double far = shape_.ranks - shape_.ranks_per_host;
    phases_.push_back({.steps = 1,
                       .level = beyond(),
                       .messages = others,
                       .pieces = others,
                       .nic_pieces = shape_.ranks_per_host * far,
                       .local_pieces = others - far,
                       .sums = true,
                       .fans_in = others > 1});
  }

  const Phases& exchange() {
    direct();
    Phase& phase = phases_[0];
    phase.messages *= filled_;
    phase.pieces *= filled_;
    phase.nic_pieces *= filled_;
    phase.local_pieces *= filled_;
    phase.encodes = false;  // once, for all
    return phases_;
  }

  // Halving: half of what is left at distance 1, then 2, 4, ...
  void tree() {
    double left = filled_;
    for (int distance = 1; distance < shape_.ranks; distance *= 2) {
      const double pieces = std::max(1.0, left / 2);
      left /= 2;
      const bool far = distance >= shape_.ranks_per_host && shape_.hosts > 1;
      phases_.push_back({.steps = 1,
                         .level = far ? beyond() : kWithinHost,
                         .messages = pieces,
                         .pieces = pieces,
                         .nic_pieces = far ? pieces * shape_.ranks_per_host : 0,
                         .local_pieces = far ? 0 : pieces,
                         .sums = true});
    }
  }

  // Rings along each side, innermost first. Neighbours are `stride` nodes apart; `on_host` nodes
  // that follow one another share a host.
  void rows(std::span<const int> grid, int nodes, int on_host) {
    std::array<int, 2> square{1, 1};
    while (square[1] * square[1] < nodes) ++square[1];
    square[0] = (nodes + square[1] - 1) / square[1];
    const std::span<const int> sides = grid.empty() ? std::span<const int>(square) : grid;
    double pieces = filled_;
    int stride = 1;
    for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
      pieces = std::max(1.0, pieces / *side);
      const double share = std::min(pieces, filled_);
      if (*side > 1) {
        const bool inside = shape_.hosts == 1 || stride * *side <= on_host;
        const int leaving = std::min(stride, on_host);
        phases_.push_back({.steps = *side - 1,
                           .level = inside ? kWithinHost : beyond(),
                           .messages = share,
                           .pieces = share,
                           .nic_pieces = inside ? 0 : share * leaving,
                           .local_pieces = leaving < on_host ? share : 0,
                           .sums = true});
      }
      stride *= *side;
    }
  }

  void hierarchical(ScheduleKind kind, std::span<const int> grid) {
    const int local = shape_.ranks_per_host;
    if (local > 1) {
      const double pieces = std::max(1.0, filled_ * (local - 1) / local);
      phases_.push_back({.steps = 1,
                         .level = kWithinHost,
                         .messages = pieces,
                         .pieces = pieces,
                         .local_pieces = pieces,
                         .sums = true});
    }
    if (shape_.hosts == 1) return;
    // One ring, grid or direct exchange a rail: its nodes are hosts.
    const Shape rail{shape_.hosts, shape_.hosts, 1, shape_.widest};
    Schedule inner(rail, std::max(1.0, filled_ / local));
    if (kind == ScheduleKind::hierarchical_ring) inner.ring();
    if (kind == ScheduleKind::hierarchical_direct) inner.direct();
    if (kind == ScheduleKind::hierarchical_grid) inner.rows(grid, shape_.hosts, 1);
    const double rails = std::min<double>(local, filled_);
    for (Phase phase : inner.phases_) {
      phase.nic_pieces *= rails;
      phase.local_pieces = 0;
      phases_.push_back(phase);
    }
  }

  const Shape& shape_;
  const double filled_;
  Phases phases_;
};

constexpr double kPerGbyte = 1e-9;
constexpr double kPerMicrosecond = 1e-6;

// Seconds that a thread takes for one byte of elements of what a phase sends and receives.
double thread_s_per_byte(const Phase& phase, const Task& task, const CostConstants& costs) {
  const double add = phase.sums ? kPerGbyte / costs.reduce_gbytes_per_s : 0;
  const compression::CodecSpec& codec = task.codecs[static_cast<std::size_t>(phase.level)];
  if (task.arithmetic == Arithmetic::native) return add;
  if (!is_lossy(task.arithmetic) || codec.id == compression::CodecId::none) {
    return add + kPerGbyte / costs.copy_gbytes_per_s;
  }
  const CodecCost& speed = costs.codecs[static_cast<std::size_t>(codec.id)];
  const double encode = phase.encodes ? kPerGbyte / speed.encode_gbytes_per_s : 0;
  return encode + kPerGbyte / speed.decode_gbytes_per_s;
}

}  // namespace

Shape shape_of(const Layout& layout) {
  return {layout.ranks(), layout.hosts(), layout.largest_host, layout.widest};
}

Prediction predict(ScheduleKind kind, const Shape& shape, const Task& task,
                   const CostConstants& costs) {
  Prediction result;
  if (shape.ranks == 1) return result;
  const double block = static_cast<double>(kBlockElements) * task.element_bytes;
  const double filled = std::clamp(task.bytes / block, 1.0, static_cast<double>(shape.ranks));
  const double piece = task.bytes / filled;
  const double tiles = std::max(1.0, piece / task.piece_bytes);
  const double tile = piece / tiles;
  double way_s = 0;
  double nic_s = 0;
  double local_s = 0;
  Schedule schedule(shape, filled);
  for (const Phase& phase : schedule.phases(kind, task.grid)) {
    const auto level = static_cast<std::size_t>(phase.level);
    const double wire =
        tile *
        (is_lossy(task.arithmetic) ? wire_bytes_per_element(task.codecs[level], task.element_bytes)
                                   : task.element_bytes) /
        task.element_bytes;
    const double nic =
        phase.nic_pieces * wire * (phase.fans_in ? costs.fan_in : 1) * kPerGbyte /
        costs.links[static_cast<std::size_t>(std::max(shape.widest, kBetweenHosts))].gbytes_per_s;
    const double local =
        phase.local_pieces * wire * kPerGbyte / costs.links[kWithinHost].gbytes_per_s;
    const double thread = phase.messages * 2 * costs.message_us * kPerMicrosecond +
                          phase.pieces * tile * thread_s_per_byte(phase, task, costs);
    // Of several messages one can be worked on while the next one travels.
    const double link = phase.level == kWithinHost ? local : nic;
    const double latency = costs.links[level].latency_us * kPerMicrosecond;
    way_s += phase.steps * (latency + std::max(link, thread) +
                            std::min(link, thread) / std::max(1.0, phase.messages));
    nic_s += phase.steps * nic;
    local_s += phase.steps * local;
    result.thread_s += phase.steps * thread * tiles;
    result.latency_s += phase.steps * latency;
    result.steps += phase.steps;
  }
  const double busiest = std::max({nic_s, local_s, result.thread_s / tiles});
  result.link_s = std::max(nic_s, local_s) * tiles;
  // The first tile goes all the way; each further one keeps what is busiest busy.
  result.seconds = std::max(way_s, busiest) + (tiles - 1) * busiest;
  return result;
}

}  // namespace thinwire::collectives
