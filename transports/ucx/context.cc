#include "transports/ucx/context.h"

#include <cstdio>
#include <cstdlib>

namespace thinwire::transports::ucx {

namespace {

std::string printed_info(const Api& api, ucp_context_h context) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return "";
  api.context_print_info(context, stream);
  std::fclose(stream);
  const std::string copy(text, bytes);
  std::free(text);
  return copy;
}

Status refused(const Settings& settings, const char* what, ucs_status_t status) {
  THINWIRE_INFO(settings.log, "UCX: %s: %s", what, settings.api.status_string(status));
  return {Code::system_error, "UCX refuses to start (its own log says more)", status};
}

}  // namespace

Context::Context(const Settings& settings, ucp_context_h context)
    : settings_(settings), context_(context) {}

Context::~Context() { api().cleanup(context_); }

Result<std::unique_ptr<Context>> Context::create(const Settings& settings,
                                                 const std::string& net_devices) {
  const Api& api = settings.api;
  ucp_config_t* config = nullptr;
  ucs_status_t status = api.config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return refused(settings, "configuration", status);
  if (!net_devices.empty()) {
    status = api.config_modify(config, "NET_DEVICES", net_devices.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.mt_workers_shared = 1;
  ucp_context_h native = nullptr;
  if (status == UCS_OK) {
    status = api.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &native);
  }
  api.config_release(config);
  if (status != UCS_OK) return refused(settings, "context", status);
  std::unique_ptr<Context> context(new Context(settings, native));
  if (const Status learned = context->learn(); !learned.ok()) return learned;
  return context;
}

Status Context::learn() {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE | UCP_ATTR_FIELD_MEMORY_TYPES;
  const ucs_status_t status = api().context_query(context_, &attributes);
  if (status != UCS_OK) return refused(settings_, "context query", status);
  request_bytes_ = attributes.request_size;
  handles_cuda_ = (attributes.memory_types & (1u << UCS_MEMORY_TYPE_CUDA)) != 0;
  resources_ = parse_resources(printed_info(api(), context_));
  return {};
}

}  // namespace thinwire::transports::ucx
