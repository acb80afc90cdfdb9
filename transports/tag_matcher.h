// Which message goes into which posted buffer: first come, first matched, per tag.
// Owner: the receiving half of a connection; one thread. State of a tag vanishes once nothing
// waits for it, because collectives use every tag only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thinwire::transports {

// Slot and Message each have `std::uint64_t tag` and `next`, a pointer to their own kind that the
// matcher uses while they wait.
template <class Slot, class Message>
class TagMatcher {
 public:
  // The oldest waiting message of the slot's tag, which is taken out; null: the slot waits.
  Message* post(Slot* slot) {
    if (Message* message = take(slot->tag, &Waiting::messages)) return message;
    append(waiting_for(slot->tag).slots, slot);
    return nullptr;
  }

  // The oldest waiting slot of `tag`, which is taken out; null: none waits.
  Slot* take_slot(std::uint64_t tag) { return take(tag, &Waiting::slots); }
  // Whether a message of this tag would find a slot.
  bool has_slot(std::uint64_t tag) const {
    const auto at = tags_.find(tag);
    return at != tags_.end() && at->second.slots.first != nullptr;
  }
  // A message for which take_slot() had none waits.
  void keep(Message* message) { append(waiting_for(message->tag).messages, message); }

  std::size_t waiting_tags() const { return tags_.size(); }
  void clear() { tags_.clear(); }

 private:
  template <class T>
  struct Queue {
    T* first = nullptr;
    T* last = nullptr;
  };
  // Either slots or messages wait for a tag, never both.
  struct Waiting {
    Queue<Slot> slots;
    Queue<Message> messages;
  };
  using Tags = std::unordered_map<std::uint64_t, Waiting>;
  static constexpr std::size_t kMaxSpareNodes = 256;

  template <class T>
  static void append(Queue<T>& queue, T* item) {
    item->next = nullptr;
    (queue.first == nullptr ? queue.first : queue.last->next) = item;
    queue.last = item;
  }

  template <class T>
  T* take(std::uint64_t tag, Queue<T> Waiting::*which) {
    const auto at = tags_.find(tag);
    if (at == tags_.end()) return nullptr;
    Queue<T>& queue = at->second.*which;
    T* item = queue.first;
    if (item == nullptr) return nullptr;
    queue.first = item->next;
    if (queue.first == nullptr) forget(at);
    return item;
  }

  Waiting& waiting_for(std::uint64_t tag) {
    if (spare_nodes_.empty()) return tags_[tag];
    if (const auto at = tags_.find(tag); at != tags_.end()) return at->second;
    typename Tags::node_type node = std::move(spare_nodes_.back());
    spare_nodes_.pop_back();
    node.key() = tag;
    node.mapped() = {};
    return tags_.insert(std::move(node)).position->second;
  }

  void forget(typename Tags::iterator at) {
    if (spare_nodes_.size() < kMaxSpareNodes)
      spare_nodes_.push_back(tags_.extract(at));
    else
      tags_.erase(at);
  }

  Tags tags_;
  std::vector<typename Tags::node_type> spare_nodes_;  // saves an allocation a tag
};

}  // namespace thinwire::transports
