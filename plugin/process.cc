#include "plugin/process.h"

#include "plugin/counters.h"

namespace thinwire::plugin {

namespace {

class Context final : public Object {
 public:
  explicit Context(std::uint64_t comm_id) : Object(ObjectKind::context), comm_id_(comm_id) {}
  std::uint64_t comm_id() const { return comm_id_; }

 private:
  const std::uint64_t comm_id_;
};

// NCCL's logger, reachable from a plain function pointer. Null: stderr, warnings only.
std::atomic<tw_nccl_logger_t> nccl_logger{nullptr};

void log_through_nccl(LogLevel level, const char* file, int line, const char* message) {
  const tw_nccl_logger_t logger = nccl_logger.load(std::memory_order_acquire);
  if (logger == nullptr) return;
  const int nccl_level = level == LogLevel::warn   ? tw_nccl_log_warn
                         : level == LogLevel::info ? tw_nccl_log_info
                                                   : tw_nccl_log_trace;
  logger(nccl_level, tw_nccl_subsys_init | tw_nccl_subsys_net, file, line, "NET/Thinwire : %s",
         message);
}

}  // namespace

Process& process() {
  static Process instance;
  return instance;
}

// Runs at dlclose or exit. Objects that are still there belong to an application that did not
// close them; other threads may be inside, so they are left to the operating system.
Process::~Process() {
  log_.set_sink(nullptr);
  if (!profiler_->in_use()) delete profiler_;
  if (objects_.empty()) return;
  for (auto& [handle, object] : objects_) (void)object.release();
  if (plugin_) plugin_->workers().stop();
  (void)plugin_.release();
}

Status Process::open_context(tw_nccl_logger_t logger, void** context, std::uint64_t comm_id) {
  const std::lock_guard lock(mutex_);
  if (logger != nullptr) {
    nccl_logger.store(logger, std::memory_order_release);
    log_.set_sink(log_through_nccl);
  }
  if (!plugin_) {
    auto plugin = Plugin::create(log_, merges_);
    if (!plugin.ok()) return plugin.status();
    plugin_ = std::move(plugin).value();
  }
  if (context == nullptr) {
    default_context_ = true;
  } else {
    auto object = std::make_unique<Context>(comm_id);
    *context = object.get();
    objects_.emplace(*context, std::move(object));
  }
  return {};
}

Status Process::close_context(void* context) {
  auto object = take(context, ObjectKind::context);
  if (!object) return {Code::invalid_argument, "finalize: not a context of this library"};
  release(std::move(object));
  return {};
}

std::uint64_t Process::comm_id(void* context) {
  const Object* object = find(context, ObjectKind::context);
  return object == nullptr ? 0 : static_cast<const Context*>(object)->comm_id();
}

Plugin* Process::plugin() {
  const std::lock_guard lock(mutex_);
  return plugin_.get();
}

transports::Counters Process::counters() {
  const std::lock_guard lock(mutex_);
  transports::Counters sum = past_;
  if (plugin_) sum += plugin_->counters();
  return sum;
}

void* Process::adopt(std::unique_ptr<Object> object) {
  const std::lock_guard lock(mutex_);
  void* handle = object.get();
  objects_.emplace(handle, std::move(object));
  return handle;
}

Object* Process::find(void* handle, ObjectKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end() || found->second->kind() != kind) return nullptr;
  return found->second.get();
}

std::unique_ptr<Object> Process::take(void* handle, ObjectKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end() || found->second->kind() != kind) return nullptr;
  auto object = std::move(found->second);
  objects_.erase(found);
  ++releasing_;
  return object;
}

void Process::release(std::unique_ptr<Object> object) {
  object.reset();
  const std::lock_guard lock(mutex_);
  --releasing_;
  drop_plugin_if_unused();
}

// From here on NCCL may dlclose us or tear its logger down.
void Process::drop_plugin_if_unused() {
  if (default_context_ || releasing_ > 0 || !objects_.empty() || !plugin_) return;
  past_ += plugin_->counters();
  plugin_.reset();
  log_.set_sink(nullptr);
  nccl_logger.store(nullptr, std::memory_order_release);
}

}  // namespace thinwire::plugin
