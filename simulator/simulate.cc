#include "simulator/simulate.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "simulator/network.h"
#include "simulator/programs.h"

namespace thinwire::simulator {
namespace {

using collectives::Action;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

enum class EventKind : std::uint8_t { thread_done, at_port, sent, arrived };

struct Event {
  double time_s = 0;
  std::uint64_t order = 0;  // decides between events of one time
  EventKind kind{};
  std::int32_t subject = 0;  // a rank's place or a message
  bool operator>(const Event& other) const {
    return std::tie(time_s, order) > std::tie(other.time_s, other.order);
  }
};

struct Message {
  Path path;
  int hop = 0;
  double bytes = 0;
  double tail_s = 0;  // when its last byte is at the port
  std::int32_t from_rank = 0;
  std::int32_t from = 0;  // places that are simulated
  std::int32_t to = 0;
  std::int32_t tile = 0;
  std::int32_t step = 0;  // the sender's
  MessageKey key = 0;
};

struct Work {
  bool computes = false;  // posting goes first, then the oldest tile
  std::int32_t tile = 0;
  std::uint64_t order = 0;
  std::int32_t step = 0;
  bool operator>(const Work& other) const {
    return std::tie(computes, tile, order) > std::tie(other.computes, other.tile, other.order);
  }
};

struct TileState {
  std::vector<std::int32_t> waits_for;  // per step
  std::size_t steps_left = 0;
  bool started = false;
};

struct RankState {
  const Program* program = nullptr;
  std::priority_queue<Work, std::vector<Work>, std::greater<>> ready;
  std::map<std::int32_t, TileState> tiles;  // running, or with messages that came early
  Work current;
  bool busy = false;
  double busy_s = 0;
  int tiles_started = 0;
  int tiles_running = 0;
};

class Simulation {
 public:
  Simulation(const Cluster& cluster, const Workload& workload, const Programs& programs)
      : cluster_(cluster),
        workload_(workload),
        programs_(programs),
        ranks_(cluster.ranks()),
        simulated_(static_cast<int>(programs.of_place.size())),
        network_(cluster,
                 simulated_ < ranks_ ? simulated_ / cluster.ranks_per_host : cluster.hosts),
        states_(programs.of_place.size()) {}

  Result<Outcome> run() {
    for (int place = 0; place < simulated_; ++place) {
      states_[at(place)].program = programs_.of_place[at(place)].get();
      start_tiles(place);
      use_thread(place);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time_s;
      handle(event);
    }
    for (const RankState& state : states_) {
      if (state.tiles_started < programs_.tiles || state.tiles_running > 0) {
        return Status(Code::internal_error, "simulate: ranks wait for one another for ever");
      }
    }
    return outcome();
  }

 private:
  void schedule(double time_s, EventKind kind, std::int32_t subject) {
    events_.push({time_s, next_order_++, kind, subject});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::thread_done:
        return thread_done(event.subject);
      case EventKind::at_port:
        return enter_port(event.subject);
      case EventKind::sent: {
        const Message& message = messages_[at(event.subject)];
        finish(message.from, message.tile, message.step);
        return use_thread(message.from);
      }
      case EventKind::arrived:
        return arrive(event.subject);
    }
  }

  // Tiles.
  TileState& tile_of(int place, std::int32_t tile) {
    const Program& program = *states_[at(place)].program;
    const auto [found, fresh] = states_[at(place)].tiles.try_emplace(tile);
    if (fresh) {
      found->second.steps_left = program.steps.size();
      found->second.waits_for.reserve(program.steps.size());
      for (const ProgramStep& step : program.steps) {
        found->second.waits_for.push_back(step.waits_for);
      }
    }
    return found->second;
  }

  void start_tiles(int place) {
    RankState& state = states_[at(place)];
    while (state.tiles_started < programs_.tiles && state.tiles_running < programs_.tiles_at_once) {
      const std::int32_t tile = state.tiles_started++;
      if (state.program->steps.empty()) continue;
      ++state.tiles_running;
      TileState& started = tile_of(place, tile);
      started.started = true;
      for (std::size_t i = 0; i < started.waits_for.size(); ++i) {
        if (started.waits_for[i] == 0) make_ready(place, tile, static_cast<std::int32_t>(i));
      }
    }
  }

  void make_ready(int place, std::int32_t tile, std::int32_t step) {
    RankState& state = states_[at(place)];
    const Action action = state.program->steps[at(step)].action;
    const bool computes = action != Action::send && action != Action::receive;
    state.ready.push({computes, tile, next_order_++, step});
  }

  void release(int place, std::int32_t tile, std::int32_t step) {
    TileState& state = tile_of(place, tile);
    if (--state.waits_for[at(step)] == 0 && state.started) make_ready(place, tile, step);
  }

  void finish(int place, std::int32_t tile, std::int32_t step_index) {
    RankState& state = states_[at(place)];
    const ProgramStep& step = state.program->steps[at(step_index)];
    for (std::int32_t i = 0; i < step.dependent_count; ++i) {
      release(place, tile, state.program->dependents[at(step.first_dependent + i)]);
    }
    if (--tile_of(place, tile).steps_left > 0) return;
    state.tiles.erase(tile);
    --state.tiles_running;
    last_done_s_ = std::max(last_done_s_, now_);
    start_tiles(place);
  }

  // The thread.
  double cost_s(const ProgramStep& step, std::int32_t tile) const {
    const Speeds& speeds = cluster_.speeds;
    const double bytes =
        programs_.elements(step.piece, tile) * static_cast<double>(workload_.element_bytes);
    switch (step.action) {
      case Action::send:
      case Action::receive:
        // A piece that ends before this tile has no message.
        return bytes == 0 ? 0 : speeds.message_s;
      case Action::reduce:
        return bytes / speeds.reduce_bytes_per_s;
      case Action::encode_elements:
      case Action::encode_acc:
        return bytes / speeds.encode_bytes_per_s;
      case Action::decode_elements:
      case Action::decode_acc:
      case Action::decode_add:
        return bytes / speeds.decode_bytes_per_s;
      default:
        return bytes / speeds.copy_bytes_per_s;
    }
  }

  void use_thread(int place) {
    RankState& state = states_[at(place)];
    if (state.busy || state.ready.empty()) return;
    state.current = state.ready.top();
    state.ready.pop();
    state.busy = true;
    const double cost = cost_s(state.program->steps[at(state.current.step)], state.current.tile);
    state.busy_s += cost;
    schedule(now_ + cost, EventKind::thread_done, place);
  }

  void thread_done(int place) {
    RankState& state = states_[at(place)];
    const Work done = state.current;
    state.busy = false;
    const ProgramStep& step = state.program->steps[at(done.step)];
    if (step.action == Action::send) {
      send(place, done.tile, done.step);
    } else {
      finish(place, done.tile, done.step);
    }
    use_thread(place);
  }

  // Messages.
  void send(int place, std::int32_t tile, std::int32_t step_index) {
    const ProgramStep& step = states_[at(place)].program->steps[at(step_index)];
    Message message;
    message.from = place;
    message.from_rank = sender_of(place, step.peer);
    message.to = step.peer % simulated_;
    message.tile = tile;
    message.step = step_index;
    message.bytes =
        programs_.elements(step.piece, tile) * workload_.wire_bytes_per_element[at(step.level)];
    message.key = step.key;
    const collectives::Layout& layout = programs_.layout;
    message.path =
        network_.path(layout.rank_at(place), layout.rank_at(step.peer), layout.rank_at(message.to));
    if (message.bytes > 0) ++sent_messages_;
    schedule(now_, EventKind::at_port, keep(message));
  }

  // The place that really sends what a simulated receiver takes: images differ.
  std::int32_t sender_of(std::int32_t place, std::int32_t peer) const {
    const std::int32_t shift = peer / simulated_ * simulated_;
    return (place - shift + ranks_) % ranks_;
  }

  std::int32_t keep(const Message& message) {
    if (free_messages_.empty()) {
      messages_.push_back(message);
      return static_cast<std::int32_t>(messages_.size()) - 1;
    }
    const std::int32_t index = free_messages_.back();
    free_messages_.pop_back();
    messages_[at(index)] = message;
    return index;
  }

  void enter_port(std::int32_t index) {
    Message& message = messages_[at(index)];
    const int hop = message.hop++;
    Port& port = network_.port(message.path.ports[at(hop)]);
    const double start = std::max(now_, port.free_s);
    // A port that is faster than what comes in has room for others meanwhile.
    port.free_s = start + message.bytes / port.bytes_per_s * fan_in(message, port, start);
    port.bytes += message.bytes;
    port.last_from = message.from_rank;
    const double end = std::max(port.free_s, message.tail_s);
    if (hop == 0) schedule(end, EventKind::sent, index);
    const double latency = message.path.latency_s[at(hop)];
    message.tail_s = end + latency;
    const bool last = message.hop == message.path.length;
    schedule((last ? end : start) + latency, last ? EventKind::arrived : EventKind::at_port, index);
  }

  // Where a message meets another sender's at the receiver's NIC.
  double fan_in(const Message& message, const Port& port, double start) const {
    const bool last = message.path.length > 1 && message.hop == message.path.length;
    return last && start > now_ && port.last_from != message.from_rank ? cluster_.fan_in : 1;
  }

  void arrive(std::int32_t index) {
    const Message message = messages_[at(index)];
    free_messages_.push_back(index);
    const std::int32_t step = states_[at(message.to)].program->receiver_of(message.key);
    if (step < 0) return;  // found out at the end: its sender's peer never finishes
    release(message.to, message.tile, step);
    use_thread(message.to);
  }

  Outcome outcome() const {
    Outcome result;
    const double images = static_cast<double>(ranks_) / simulated_;
    result.schedule = programs_.schedule;
    result.seconds = last_done_s_;
    result.host_out_bytes = network_.busiest(PortKind::nic_out).bytes;
    result.network_bytes = network_.bytes(PortKind::nic_out) * images;
    result.received_bytes = network_.bytes(PortKind::nic_in) * images;
    result.spine_bytes = network_.bytes(PortKind::leaf_up) * images;
    result.local_bytes = network_.bytes(PortKind::local) * images;
    for (const RankState& state : states_) {
      result.compute_s = std::max(result.compute_s, state.busy_s);
    }
    result.messages = sent_messages_ * static_cast<std::uint64_t>(ranks_ / simulated_);
    result.simulated_ranks = simulated_;
    return result;
  }

  const Cluster& cluster_;
  const Workload& workload_;
  const Programs& programs_;
  const int ranks_;
  const int simulated_;
  Network network_;
  std::vector<RankState> states_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_order_ = 0;
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  std::uint64_t sent_messages_ = 0;
  double now_ = 0;
  double last_done_s_ = 0;
};

}  // namespace

Result<Outcome> simulate(const Cluster& cluster, const Workload& workload) {
  const Result<Programs> programs = make_programs(cluster, workload);
  if (!programs.ok()) return programs.status();
  if (programs.value().steps_run() > kMaxStepsRun) {
    return Status(Code::invalid_argument, "simulate: too many steps for this many tiles");
  }
  return simulate(cluster, workload, programs.value());
}

Result<Outcome> simulate(const Cluster& cluster, const Workload& workload,
                         const Programs& programs) {
  return Simulation(cluster, workload, programs).run();
}

}  // namespace thinwire::simulator
