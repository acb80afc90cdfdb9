// Object: what NCCL holds a pointer to. Every handle that leaves the library is an Object owned by
// Process; its kind is checked before anything else is believed. Any thread.
#pragma once

#include <cstdint>

namespace thinwire::plugin {

enum class ObjectKind : std::uint32_t {
  context = 0x74770001,
  net_listen,
  net_send,
  net_receive,
  coll_listen,
  coll_comm,
};

class Object {
 public:
  explicit Object(ObjectKind kind) : kind_(kind) {}
  // The kind is wiped so that a stale handle is recognised as long as its memory is not reused.
  virtual ~Object() { kind_ = ObjectKind{}; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectKind kind() const { return kind_; }

 private:
  volatile ObjectKind kind_;
};

}  // namespace thinwire::plugin
