// GPU memory: what a UCX that handles CUDA is asked, and what one that does not is spared. No GPU:
// the addresses below are never to be touched by the processor.
#include <gmock/gmock.h>

#include "tests/transports/ucx_fake.h"
#include "transports/memory/memory_transport.h"
#include "transports/ucx/endpoint.h"
#include "transports/ucx/receiver.h"
#include "transports/ucx/sender.h"

namespace thinwire::transports::ucx {
namespace {

constexpr std::uint64_t kHostOnly = 1u << UCS_MEMORY_TYPE_HOST;
constexpr std::uint64_t kWithCuda = kHostOnly | 1u << UCS_MEMORY_TYPE_CUDA;

// UCX over a fake, up to a receiver with its worker.
struct Fixture final : MessageSink {
  explicit Fixture(std::uint64_t memory_types)
      : ucp(memory_types),
        log([](LogLevel, const char*, int, const char*) {}),
        settings(Config{}, log, clock, ucp.api()),
        context(Context::create(settings, "").value()),
        registrations(*context),
        sender(*context, 1, finished),
        worker(Worker::create(*context, events, *this, workers).value()),
        receiver(*context, *worker, 1, finished) {
    sender.wire(reinterpret_cast<ucp_ep_h>(this), 1, kWindowBytes);
  }
  bool message_arrived(const ActiveMessage& message) override { return receiver.arrive(message); }

  ucs_status_t deliver(std::uint64_t tag, std::span<std::byte> data, unsigned attributes) {
    const MessageHeader header{.connection = 1, .charged = 1, .sequence = sequence++, .tag = tag};
    return ucp.deliver(&header, sizeof header, data.data(), data.size(), attributes);
  }
  void post(void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory) {
    const ReceiveBuffer buffer{data, bytes, tag, memory};
    receiver.post({&buffer, 1}, tag);
  }
  std::size_t finished_count() {
    std::array<Completion, 8> out;
    return finished.drain(out);
  }

  FakeUcp ucp;
  Log log;
  SteadyClock clock;
  Settings settings;
  std::unique_ptr<Context> context;
  EventSet events;
  Finished finished;
  std::vector<Worker*> workers;
  Registrations registrations;
  Sender sender;
  std::unique_ptr<Worker> worker;
  Receiver receiver;
  std::uint64_t sequence = 0;
};

void* const kGpuAddress = reinterpret_cast<void*>(std::uintptr_t{0x10000});

bool endpoint_takes_cuda(const Context& context) {
  memory::MemoryFabric fabric{{}};
  memory::MemoryTransport control(fabric);
  Departed departed(context.settings().clock);
  const UcxEndpoint endpoint(context, control.open(0).value(), departed);
  return endpoint.capabilities().cuda_memory;
}

TEST(UcxMemory, Cuda_IsACapabilityWhereUcxReportsIt) {
  const Fixture with(kWithCuda);
  EXPECT_TRUE(with.context->handles_cuda());
  EXPECT_TRUE(endpoint_takes_cuda(*with.context));
}

TEST(UcxMemory, HostOnly_HasNoSuchCapability) {
  const Fixture without(kHostOnly);
  EXPECT_FALSE(without.context->handles_cuda());
  EXPECT_FALSE(endpoint_takes_cuda(*without.context));
}

TEST(UcxMemory, Registering_PassesTheMemorysType) {
  Fixture ucx(kWithCuda);
  std::array<std::byte, 64> host{};
  const auto gpu_key = ucx.registrations.add(kGpuAddress, 4096, MemoryKind::cuda);
  const auto host_key = ucx.registrations.add(host.data(), host.size(), MemoryKind::host);
  ASSERT_TRUE(gpu_key.ok() && host_key.ok());
  ASSERT_EQ(ucx.ucp.mapped.size(), 2u);
  for (const ucp_mem_map_params_t& params : ucx.ucp.mapped) {
    EXPECT_NE(params.field_mask & UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE, 0u);
  }
  EXPECT_EQ(ucx.ucp.mapped[0].address, kGpuAddress);
  EXPECT_EQ(ucx.ucp.mapped[0].length, 4096u);
  EXPECT_EQ(ucx.ucp.mapped[0].memory_type, UCS_MEMORY_TYPE_CUDA);
  EXPECT_EQ(ucx.ucp.mapped[1].memory_type, UCS_MEMORY_TYPE_HOST);
  EXPECT_TRUE(ucx.registrations.remove(gpu_key.value()).ok());
  EXPECT_EQ(ucx.ucp.unmapped, 1);
}

TEST(UcxMemory, RegisteringWithoutCuda_IsRefusedClearly) {
  Fixture ucx(kHostOnly);
  const auto key = ucx.registrations.add(kGpuAddress, 4096, MemoryKind::cuda);
  EXPECT_EQ(key.status().code(), Code::invalid_argument);
  EXPECT_THAT(key.status().text(), testing::HasSubstr("CUDA"));
  EXPECT_TRUE(ucx.ucp.mapped.empty());
}

TEST(UcxMemory, Sends_SayWhichMemoryTheyAreFrom) {
  Fixture ucx(kWithCuda);
  const MemoryKey gpu = ucx.registrations.add(kGpuAddress, 1 << 20, MemoryKind::cuda).value();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20}) {
    ASSERT_TRUE(ucx.sender.post(kGpuAddress, bytes, 1, Registrations::type_of(gpu), bytes, 0).ok());
    const FakeUcp::Operation& send = ucx.ucp.sends.back();
    EXPECT_NE(send.parameters.op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE, 0u);
    EXPECT_EQ(send.parameters.memory_type, UCS_MEMORY_TYPE_CUDA);
    EXPECT_EQ(send.bytes, bytes);
  }
  EXPECT_EQ(ucx.finished_count(), 2u);
}

TEST(UcxMemory, EagerMessageForTheGpu_IsUnpackedByUcx) {
  Fixture ucx(kWithCuda);
  EXPECT_NE(ucx.ucp.handler.flags & UCP_AM_FLAG_PERSISTENT_DATA, 0u);
  const MemoryKey gpu = ucx.registrations.add(kGpuAddress, 4096, MemoryKind::cuda).value();
  std::array<std::byte, 64> data{};
  ucx.post(kGpuAddress, 4096, 5, gpu);
  EXPECT_EQ(ucx.deliver(5, data, UCP_AM_RECV_ATTR_FLAG_DATA), UCS_INPROGRESS);
  // Once more, and now the message is there first.
  EXPECT_EQ(ucx.deliver(6, data, UCP_AM_RECV_ATTR_FLAG_DATA), UCS_INPROGRESS);
  ucx.post(kGpuAddress, 4096, 6, gpu);
  ASSERT_EQ(ucx.ucp.receives.size(), 2u);
  for (const FakeUcp::Operation& receive : ucx.ucp.receives) {
    EXPECT_EQ(receive.buffer, kGpuAddress);
    EXPECT_EQ(receive.bytes, data.size());
    EXPECT_EQ(receive.parameters.memory_type, UCS_MEMORY_TYPE_CUDA);
  }
  EXPECT_EQ(ucx.finished_count(), 2u);
  EXPECT_EQ(ucx.receiver.taken(), 2 * cost_of(data.size()));
}

TEST(UcxMemory, WaitingDescriptors_AreReleasedAtTheEnd) {
  Fixture ucx(kWithCuda);
  std::array<std::byte, 64> data{};
  EXPECT_EQ(ucx.deliver(6, data, UCP_AM_RECV_ATTR_FLAG_DATA), UCS_INPROGRESS);
  ucx.receiver.refuse_waiting();
  EXPECT_EQ(ucx.ucp.released, 1);
}

TEST(UcxMemory, HostOnly_EagerMessagesAreCopied) {
  Fixture ucx(kHostOnly);
  EXPECT_EQ(ucx.ucp.handler.flags & UCP_AM_FLAG_PERSISTENT_DATA, 0u);
  std::array<std::byte, 64> data{}, got{};
  data.fill(std::byte{7});
  ucx.post(got.data(), got.size(), 5, {});
  EXPECT_EQ(ucx.deliver(5, data, UCP_AM_RECV_ATTR_FLAG_DATA), UCS_OK);
  EXPECT_EQ(got, data);
  EXPECT_TRUE(ucx.ucp.receives.empty());
  EXPECT_EQ(ucx.finished_count(), 1u);
}

}  // namespace
}  // namespace thinwire::transports::ucx
