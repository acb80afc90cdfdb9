#include "transports/tcp/matcher.h"

namespace thinwire::transports::tcp {

namespace {
constexpr std::size_t kMaxSpareNodes = 256;

template <class T>
void append(T*& first, T*& last, T* item) {
  item->next = nullptr;
  (first == nullptr ? first : last->next) = item;
  last = item;
}
}  // namespace

Matcher::Waiting& Matcher::waiting_for(std::uint64_t tag) {
  if (spare_nodes_.empty()) return tags_[tag];
  if (const auto at = tags_.find(tag); at != tags_.end()) return at->second;
  Tags::node_type node = std::move(spare_nodes_.back());
  spare_nodes_.pop_back();
  node.key() = tag;
  node.mapped() = {};
  return tags_.insert(std::move(node)).position->second;
}

void Matcher::forget(Tags::iterator at) {
  if (spare_nodes_.size() < kMaxSpareNodes)
    spare_nodes_.push_back(tags_.extract(at));
  else
    tags_.erase(at);
}

Incoming* Matcher::post(Slot* slot) {
  if (const auto at = tags_.find(slot->tag);
      at != tags_.end() && at->second.first_message != nullptr) {
    Incoming* message = at->second.first_message;
    at->second.first_message = message->next;
    if (message->next == nullptr) forget(at);
    return message;
  }
  Waiting& waiting = waiting_for(slot->tag);
  append(waiting.first_slot, waiting.last_slot, slot);
  return nullptr;
}

Slot* Matcher::arrive(Incoming* message) {
  if (const auto at = tags_.find(message->tag);
      at != tags_.end() && at->second.first_slot != nullptr) {
    Slot* slot = at->second.first_slot;
    at->second.first_slot = slot->next;
    if (slot->next == nullptr) forget(at);
    return slot;
  }
  Waiting& waiting = waiting_for(message->tag);
  append(waiting.first_message, waiting.last_message, message);
  return nullptr;
}

}  // namespace thinwire::transports::tcp
