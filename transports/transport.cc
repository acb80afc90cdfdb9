#include "transports/transport.h"

namespace thinwire::transports {

namespace {
constexpr Status kNotMerged{Code::invalid_config,
                            "this transport does not make one device of several"};
}

Status Connection::post_flush(const void*, MemoryKey, std::uint64_t) {
  return {Code::invalid_argument, "this transport has nothing to flush"};
}

Result<MemoryKey> Endpoint::register_dmabuf(void*, std::size_t, std::uint64_t, int) {
  return Status(Code::invalid_argument, "this transport takes no DMA-BUF");
}

Status Transport::can_merge(std::span<const int>) { return kNotMerged; }

Result<std::unique_ptr<Endpoint>> Transport::open_merged(std::span<const int>) {
  return kNotMerged;
}

}  // namespace thinwire::transports
