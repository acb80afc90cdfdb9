// NetApi and CollNetApi: NCCL's plugin tables without their versions. One object a loaded table;
// owner: PluginLibrary. Threads: one, as NCCL's proxy thread would call it.
//
// Every call returns NCCL's own result; see nccl_check() for turning one into a Failure. Handles,
// comms, requests and memory handles are the plugin's, passed through untouched.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/nccl_abi/types.h"

namespace thinwire::perf {

using NcclResult = tw_nccl_result_t;
using ListenHandle = std::array<char, tw_nccl_handle_bytes>;

struct DeviceProperties {
  std::string name;
  std::string pci_path;
  int speed_mbps = 0;
  int max_recvs = 1;
  bool host_memory = true;
  std::size_t max_p2p_bytes = std::size_t{1} << 30;  // NCCL's caps where a table has none
  std::size_t max_collective_bytes = std::size_t{1} << 29;
};

// What both tables have.
class PluginApi {
 public:
  PluginApi() = default;
  PluginApi(const PluginApi&) = delete;
  PluginApi& operator=(const PluginApi&) = delete;
  virtual ~PluginApi() = default;

  virtual int version() const = 0;
  virtual const char* name() const = 0;

  virtual NcclResult init(tw_nccl_logger_t logger) = 0;
  virtual NcclResult finalize() = 0;  // success where the table has none
  virtual NcclResult devices(int* count) = 0;
  virtual NcclResult properties(int device, DeviceProperties* properties) = 0;
  // One device of several, as NCCL makes them; invalid_usage where the table has no such call.
  virtual NcclResult merge(const std::vector<int>& devices, int* merged) = 0;
  virtual NcclResult listen(int device, ListenHandle* handle, void** listen_comm) = 0;
  virtual NcclResult close_listen(void* listen_comm) = 0;
  // Host memory; `comm` is a send, receive or collective comm.
  virtual NcclResult register_memory(void* comm, void* data, std::size_t bytes, void** memory) = 0;
  virtual NcclResult deregister_memory(void* comm, void* memory) = 0;
  // `bytes` may be null.
  virtual NcclResult test(void* request, int* done, int* bytes) = 0;
};

class NetApi : public PluginApi {
 public:
  // Both succeed with a null comm while the connection is not there yet.
  virtual NcclResult connect(int device, ListenHandle* handle, void** send_comm) = 0;
  virtual NcclResult accept(void* listen_comm, void** recv_comm) = 0;
  virtual NcclResult isend(void* send_comm, void* data, std::size_t bytes, int tag, void* memory,
                           void** request) = 0;
  virtual NcclResult irecv(void* recv_comm, void* data, std::size_t bytes, int tag, void* memory,
                           void** request) = 0;
  virtual NcclResult close_send(void* send_comm) = 0;
  virtual NcclResult close_recv(void* recv_comm) = 0;
};

// The part [offset, offset + bytes) of a gathered or scattered vector; see iallgather in NCCL's
// net_v8.h.
struct Window {
  std::size_t bytes_per_rank = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// One end of a collective call: memory and its registration.
struct CollBuffer {
  void* data = nullptr;
  void* memory = nullptr;
};

class CollNetApi : public PluginApi {
 public:
  // May block; `handles` holds one of each rank.
  virtual NcclResult connect(ListenHandle* handles, int ranks, int rank, void* listen_comm,
                             void** coll_comm) = 0;
  virtual NcclResult reduce_support(int type, int op, int* supported) = 0;
  virtual bool has_windows() const = 0;  // iallgather and ireducescatter exist
  virtual NcclResult iallreduce(void* coll_comm, CollBuffer send, CollBuffer recv,
                                std::size_t count, int type, int op, void** request) = 0;
  virtual NcclResult iallgather(void* coll_comm, CollBuffer send, CollBuffer recv, Window window,
                                void** request) = 0;
  virtual NcclResult ireducescatter(void* coll_comm, CollBuffer send, CollBuffer recv,
                                    Window window, int type, int op, void** request) = 0;
  virtual NcclResult close_collective(void* coll_comm) = 0;
};

// `table` is the symbol ncclNetPlugin_v<version> (ncclCollNetPlugin_v<version>) of a loaded
// library, which must outlive the result. Null where the version is not one of 6 to 12.
std::unique_ptr<NetApi> make_net_api(int version, void* table);
std::unique_ptr<CollNetApi> make_collnet_api(int version, void* table);

// "ncclRemoteError (6)".
std::string result_text(NcclResult result);
// Throws Failure (usage for ncclInvalidUsage, else runtime_error) naming `call`, the plugin and the
// result unless it is success.
void nccl_check(const PluginApi& api, NcclResult result, const char* call);

}  // namespace thinwire::perf
