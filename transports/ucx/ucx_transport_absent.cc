// What stands in for the transport where UCX's headers were not there at build time.
#include "transports/ucx/ucx_transport.h"

namespace thinwire::transports::ucx {

namespace {
constexpr Status kAbsent{Code::system_error, "this build of Thinwire has no UCX transport"};
}

struct UcxTransport::State {};

UcxTransport::UcxTransport(const Config&, const Log&, const Clock&, Transport&) {}
UcxTransport::~UcxTransport() = default;

Result<std::vector<NicInfo>> UcxTransport::probe() { return kAbsent; }
Result<std::unique_ptr<Endpoint>> UcxTransport::open(int) { return kAbsent; }

}  // namespace thinwire::transports::ucx
