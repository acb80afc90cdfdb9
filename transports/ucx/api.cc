#include "transports/ucx/api.h"

#include <dlfcn.h>
#include <signal.h>

#include <array>

namespace thinwire::transports::ucx {

namespace {

constexpr unsigned kMajor = 1;
constexpr unsigned kLeastMinor = 13;

// UCX's constructors install handlers for crashes and for its own debugging (UCX_HANDLE_ERRORS,
// UCX_DEBUG_SIGNO); in a process that is not ours they are taken back.
class SignalHandlersKept {
 public:
  SignalHandlersKept() {
    for (int i = 1; i < kSignals; ++i)
      known_[at(i)] = ::sigaction(i, nullptr, &before_[at(i)]) == 0;
  }
  ~SignalHandlersKept() {
    for (int i = 1; i < kSignals; ++i) {
      struct sigaction now {};
      if (!known_[at(i)] || ::sigaction(i, nullptr, &now) != 0) continue;
      if (now.sa_sigaction != before_[at(i)].sa_sigaction) {
        ::sigaction(i, &before_[at(i)], nullptr);
      }
    }
  }
  SignalHandlersKept(const SignalHandlersKept&) = delete;
  SignalHandlersKept& operator=(const SignalHandlersKept&) = delete;

 private:
  static constexpr int kSignals = 65;
  static std::size_t at(int signal) { return static_cast<std::size_t>(signal); }
  std::array<struct sigaction, kSignals> before_{};
  std::array<bool, kSignals> known_{};
};

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function& function) {
    void* symbol = ::dlsym(library_, name);
    if (symbol == nullptr && missing_ == nullptr) missing_ = name;
    function = reinterpret_cast<Function>(symbol);
  }
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void find_all(Symbols& symbols, Api& api) {
  symbols.find("ucp_get_version", api.get_version);
  symbols.find("ucp_get_version_string", api.get_version_string);
  symbols.find("ucp_config_read", api.config_read);
  symbols.find("ucp_config_modify", api.config_modify);
  symbols.find("ucp_config_release", api.config_release);
  symbols.find("ucp_init_version", api.init_version);
  symbols.find("ucp_cleanup", api.cleanup);
  symbols.find("ucp_context_query", api.context_query);
  symbols.find("ucp_context_print_info", api.context_print_info);
  symbols.find("ucp_worker_create", api.worker_create);
  symbols.find("ucp_worker_destroy", api.worker_destroy);
  symbols.find("ucp_worker_get_address", api.worker_get_address);
  symbols.find("ucp_worker_release_address", api.worker_release_address);
  symbols.find("ucp_worker_progress", api.worker_progress);
  symbols.find("ucp_worker_get_efd", api.worker_get_efd);
  symbols.find("ucp_worker_arm", api.worker_arm);
  symbols.find("ucp_worker_set_am_recv_handler", api.worker_set_am_recv_handler);
  symbols.find("ucp_ep_create", api.ep_create);
  symbols.find("ucp_ep_close_nbx", api.ep_close_nbx);
  symbols.find("ucp_am_send_nbx", api.am_send_nbx);
  symbols.find("ucp_am_recv_data_nbx", api.am_recv_data_nbx);
  symbols.find("ucp_am_data_release", api.am_data_release);
  symbols.find("ucp_mem_map", api.mem_map);
  symbols.find("ucp_mem_unmap", api.mem_unmap);
  symbols.find("ucp_request_check_status", api.request_check_status);
  symbols.find("ucp_request_free", api.request_free);
  symbols.find("ucs_status_string", api.status_string);
}

}  // namespace

Result<Api> load_api(const Log& log) {
  const SignalHandlersKept kept;
  void* library = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    THINWIRE_INFO(log, "UCX: %s", ::dlerror());
    return Status(Code::system_error, "UCX's libucp.so.0 cannot be loaded");
  }
  Api api{};
  Symbols symbols(library);
  find_all(symbols, api);
  if (api.get_version == nullptr) {
    return Status(Code::system_error, "libucp.so.0 is not UCX's library");
  }
  unsigned major = 0, minor = 0, release = 0;
  api.get_version(&major, &minor, &release);
  THINWIRE_INFO(log, "UCX: libucp %u.%u.%u", major, minor, release);
  if (major != kMajor || minor < kLeastMinor) {
    return Status(Code::system_error, "UCX's libucp is not of version 1.13 or newer",
                  static_cast<int>(major * 100 + minor));
  }
  if (symbols.missing() != nullptr) {
    THINWIRE_INFO(log, "UCX: libucp lacks %s", symbols.missing());
    return Status(Code::system_error, "UCX's libucp lacks a function");
  }
  return api;
}

}  // namespace thinwire::transports::ucx
