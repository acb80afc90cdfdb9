// Process: the one piece of state the C ABI forces on us, since NCCL's v6 to v10 tables carry no
// context. Owns the log, the Plugin and every Object NCCL holds a pointer to. Any thread.
//
// The Plugin lives from the first init until the last context and object are gone; v6 to v10
// contexts are never finalized and keep it until the library is unloaded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/log.h"
#include "base/nccl_abi/types.h"
#include "base/status.h"
#include "plugin/object.h"
#include "plugin/plugin.h"
#include "plugin/profiler.h"

namespace thinwire::plugin {

// Operations accepted since load; see include/thinwire.h.
struct Tallies {
  std::atomic<std::uint64_t> sends, receives, all_reduces, all_gathers, reduce_scatters, flushes;
};

class Process {
 public:
  Process() : log_(nullptr), profiler_(new Profiler(log_)) {}
  ~Process();

  // Builds the Plugin if there is none. `context`: where to put a context of its own, or null for
  // the default one. `comm_id`: NCCL's name of the communicator, 0 for the default context.
  Status open_context(tw_nccl_logger_t logger, void** context, std::uint64_t comm_id);
  // Code::invalid_argument unless `context` is one of ours.
  Status close_context(void* context);
  // 0 where `context` is null or not one of ours.
  std::uint64_t comm_id(void* context);

  const Log& log() const { return log_; }
  // Null before the first init and after the last finalize.
  Plugin* plugin();
  Tallies& tallies() { return tallies_; }
  Profiler& profiler() { return *profiler_; }
  transports::Counters counters();

  // Gives the object to Process and returns the pointer to hand out.
  void* adopt(std::unique_ptr<Object> object);
  // The object behind a handle if it is one of ours and of `kind`, else null. Takes a lock: for
  // set-up calls.
  Object* find(void* handle, ObjectKind kind);
  // Takes the object back to be destroyed by the caller, outside our lock; null as for find().
  // Drop it with release().
  std::unique_ptr<Object> take(void* handle, ObjectKind kind);
  // Destroys it, and the Plugin with the last one.
  void release(std::unique_ptr<Object> object);

 private:
  void drop_plugin_if_unused();

  Log log_;
  Tallies tallies_{};
  Profiler* const profiler_;  // owned, but not destroyed while NCCL may still call it
  std::mutex mutex_;
  Merges merges_;  // NCCL remembers them beyond the Plugin
  std::unique_ptr<Plugin> plugin_;
  transports::Counters past_;  // of Plugins that are gone
  bool default_context_ = false;
  int releasing_ = 0;  // objects taken and not yet destroyed
  std::unordered_map<void*, std::unique_ptr<Object>> objects_;
};

Process& process();

}  // namespace thinwire::plugin
