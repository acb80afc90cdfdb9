#include "transports/transport.h"

namespace thinwire::transports {

namespace {
constexpr Status kNotMerged{Code::invalid_config,
                            "this transport does not make one device of several"};
}

Status Transport::can_merge(std::span<const int>) { return kNotMerged; }

Result<std::unique_ptr<Endpoint>> Transport::open_merged(std::span<const int>) {
  return kNotMerged;
}

}  // namespace thinwire::transports
