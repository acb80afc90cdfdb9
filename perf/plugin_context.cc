#include "perf/plugin_context.h"

#include "perf/call_limit.h"

namespace thinwire::perf {

PluginContext::PluginContext(const Options& options, const PluginEnvironment& environment,
                             Session& the_session, Watch& the_watch, bool want_collnet)
    : session(the_session), watch(the_watch) {
  const tw_nccl_logger_t logger = environment.verbose ? verbose_logger() : warning_logger();
  session.agree([&] {
    library_ =
        std::make_unique<PluginLibrary>(options.plugin, environment.net_plugin, options.interface);
    NetApi& net_api = library_->net();
    const CallLimit limit(session.rank(), "init", options.timeout_s);
    nccl_check(net_api, net_api.init(logger), "init");
    net_ready_ = true;
    (void)choose_device(net_api, options.device);
    CollNetApi* api = library_->collnet();
    if (api == nullptr || !want_collnet) return;
    // NCCL goes on without CollNet where its init fails or it has no device.
    int devices = 0;
    if (api->init(logger) != tw_nccl_success) return;
    collnet_ready_ = api->devices(&devices) == tw_nccl_success && devices > 0;
  });
  const bool everywhere = [&] {
    for (const double ready : session.all_gather(collnet_ready_ ? 1.0 : 0.0)) {
      if (ready == 0) return false;
    }
    return true;
  }();
  if (everywhere || !collnet_ready_) return;
  (void)library_->collnet()->finalize();
  collnet_ready_ = false;
}

PluginContext::~PluginContext() {
  if (collnet_ready_) (void)library_->collnet()->finalize();
  if (net_ready_) (void)library_->net().finalize();
}

}  // namespace thinwire::perf
