// What stands in for the transport where libibverbs' headers were not there at build time.
#include "transports/verbs/verbs_transport.h"

namespace thinwire::transports::verbs {

namespace {
constexpr Status kAbsent{Code::system_error, "this build of Thinwire has no verbs transport"};
}

struct VerbsTransport::State {};

VerbsTransport::VerbsTransport(const Config&, const Log&, const Clock&, Transport&) {}
VerbsTransport::~VerbsTransport() = default;

Result<std::vector<NicInfo>> VerbsTransport::probe() { return kAbsent; }
Result<std::unique_ptr<Endpoint>> VerbsTransport::open(int) { return kAbsent; }
Status VerbsTransport::can_merge(std::span<const int>) { return kAbsent; }
Result<std::unique_ptr<Endpoint>> VerbsTransport::open_merged(std::span<const int>) {
  return kAbsent;
}

}  // namespace thinwire::transports::verbs
