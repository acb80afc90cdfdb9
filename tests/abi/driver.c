#include "tests/abi/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/abi/harness.h"

/* The first 16 functions of every net table, and of every CollNet table once the two that v8
 * brought are allowed for, stand in the same order (held by layout_test.cc). */
enum net_slot {
  kNetInit,
  kNetDevices,
  kNetProperties,
  kNetListen,
  kNetConnect,
  kNetAccept,
  kNetRegMr,
  kNetRegMrDmaBuf,
  kNetDeregMr,
  kNetIsend,
  kNetIrecv,
  kNetIflush,
  kNetTest,
  kNetCloseSend,
  kNetCloseRecv,
  kNetCloseListen
};

enum coll_slot {
  kCollInit,
  kCollDevices,
  kCollProperties,
  kCollListen,
  kCollConnect,
  kCollReduceSupport,
  kCollRegMr,
  kCollRegMrDmaBuf,
  kCollDeregMr,
  kCollIallreduce,
  kCollIallgather,
  kCollIreducescatter,
  kCollIflush,
  kCollTest,
  kCollClose,
  kCollCloseListen
};

union properties {
  tw_nccl_net_properties_v6_t v6;
  tw_nccl_net_properties_v7_t v7;
  tw_nccl_net_properties_v8_t v8;
  tw_nccl_net_properties_v9_t v9;
  tw_nccl_net_properties_v11_t v11;
  tw_nccl_net_properties_v12_t v12;
};

static const void* table_of(void* library, const char* kind, int version) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "%s_v%d", kind, version);
  const void* table = dlsym(library, symbol);
  require(table != NULL, "no symbol %s", symbol);
  require(strcmp(*(const char* const*)table, "Thinwire") == 0, "%s has another name", symbol);
  return table;
}

static void copy_slots(const void* table, int first, int count, any_function* slots) {
  memcpy(slots, (const char*)table + sizeof(char*) + (size_t)first * sizeof(any_function),
         (size_t)count * sizeof(any_function));
}

void driver_load(struct driver* driver, const char* path, int version) {
  memset(driver, 0, sizeof *driver);
  driver->version = version;
  driver->comm_id = 42;
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver->library == NULL) fail("dlopen: %s", dlerror());
  const void* net = table_of(driver->library, "ncclNetPlugin", version);
  const void* coll = table_of(driver->library, "ncclCollNetPlugin", version);
  copy_slots(net, 0, kNetSlots, driver->net);
  if (version >= 8) {
    copy_slots(coll, 0, kCollSlots, driver->coll);
  } else {
    copy_slots(coll, 0, kCollIallreduce + 1, driver->coll);
    copy_slots(coll, kCollIallreduce + 1, kCollSlots - kCollIflush, driver->coll + kCollIflush);
  }
  if (version == 9) {
    driver->net_merge = (any_function)((const tw_nccl_net_v9_t*)net)->makeVDevice;
    driver->coll_merge = (any_function)((const tw_nccl_collnet_v9_t*)coll)->makeVDevice;
  } else if (version == 10) {
    driver->net_merge = (any_function)((const tw_nccl_net_v10_t*)net)->makeVDevice;
    driver->coll_merge = (any_function)((const tw_nccl_collnet_v10_t*)coll)->makeVDevice;
  } else if (version == 11) {
    driver->net_merge = (any_function)((const tw_nccl_net_v11_t*)net)->makeVDevice;
    driver->coll_merge = (any_function)((const tw_nccl_collnet_v11_t*)coll)->makeVDevice;
    driver->net_finalize = (any_function)((const tw_nccl_net_v11_t*)net)->finalize;
    driver->coll_finalize = (any_function)((const tw_nccl_collnet_v11_t*)coll)->finalize;
  } else if (version == 12) {
    driver->net_merge = (any_function)((const tw_nccl_net_v12_t*)net)->makeVDevice;
    driver->coll_merge = (any_function)((const tw_nccl_collnet_v12_t*)coll)->makeVDevice;
    driver->net_finalize = (any_function)((const tw_nccl_net_v12_t*)net)->finalize;
    driver->coll_finalize = (any_function)((const tw_nccl_collnet_v12_t*)coll)->finalize;
  }
}

void driver_unload(struct driver* driver) {
  require(dlclose(driver->library) == 0, "dlclose: %s", dlerror());
  driver->library = NULL;
}

static tw_nccl_result_t init_net(struct driver* driver, tw_nccl_logger_t logger) {
  const any_function init = driver->net[kNetInit];
  tw_nccl_net_comm_config_v11_t config = {.trafficClass = tw_nccl_undefined};
  if (driver->version >= 11) {
    return ((tw_nccl_net_init_v11_fn)init)(&driver->net_context, driver->comm_id, &config, logger,
                                           NULL);
  }
  if (driver->version == 10) return ((tw_nccl_net_init_v10_fn)init)(logger, NULL);
  return ((tw_nccl_init_v6_fn)init)(logger);
}

static tw_nccl_result_t init_coll(struct driver* driver, tw_nccl_logger_t logger) {
  const any_function init = driver->coll[kCollInit];
  if (driver->version >= 11) {
    return ((tw_nccl_collnet_init_v11_fn)init)(&driver->coll_context, driver->comm_id, logger);
  }
  return ((tw_nccl_init_v6_fn)init)(logger);
}

tw_nccl_result_t driver_init(struct driver* driver, tw_nccl_logger_t logger) {
  const tw_nccl_result_t result = init_net(driver, logger);
  return result == tw_nccl_success ? init_coll(driver, logger) : result;
}

void driver_finalize(struct driver* driver) {
  if (driver->version < 11) return;
  require_success(((tw_nccl_finalize_v11_fn)driver->coll_finalize)(driver->coll_context),
                  "collnet finalize");
  require_success(((tw_nccl_finalize_v11_fn)driver->net_finalize)(driver->net_context),
                  "net finalize");
}

bool driver_gathers(const struct driver* driver) { return driver->version >= 8; }

static void copy_text(char* target, size_t bytes, const char* source) {
  snprintf(target, bytes, "%s", source == NULL ? "" : source);
}

/* The fields before netDeviceType moved in v8 and v9, so each version is read through its own
 * struct; those of v11 and v12 begin as v9 does. */
static tw_nccl_result_t properties(any_function get, int version, int dev, struct device* device) {
  union properties got;
  memset(&got, 0xff, sizeof got);
  const tw_nccl_result_t result = ((tw_nccl_get_properties_v12_fn)get)(dev, &got.v12);
  if (result != tw_nccl_success) return result;
  copy_text(device->name, sizeof device->name, got.v6.name);
  copy_text(device->pci_path, sizeof device->pci_path, got.v6.pciPath);
  device->pointer_support = got.v6.ptrSupport;
  device->max_p2p_bytes = (size_t)1 << 30;
  device->max_coll_bytes = (size_t)512 << 20;
  device->member_count = 1;
  device->members[0] = dev;
  device->rail = version == 12 ? got.v12.railId : tw_nccl_undefined;
  device->plane = version == 12 ? got.v12.planeId : tw_nccl_undefined;
  if (version <= 7) {
    device->speed_mbps = got.v6.speed;
    device->max_receives = got.v6.maxRecvs;
  } else if (version == 8) {
    device->speed_mbps = got.v8.speed;
    device->max_receives = got.v8.maxRecvs;
  } else {
    device->speed_mbps = got.v9.speed;
    device->max_receives = got.v9.maxRecvs;
    device->member_count = got.v9.vProps.ndevs;
    const int room = version == 12 ? tw_nccl_max_devs_per_nic_v12 : tw_nccl_max_devs_per_nic_v9;
    require(device->member_count >= 1 && device->member_count <= room, "vProps of %d devices",
            device->member_count);
    memcpy(device->members, got.v12.vProps.devs, (size_t)device->member_count * sizeof(int));
    device->max_p2p_bytes = version == 12 ? got.v12.maxP2pBytes : got.v9.maxP2pBytes;
    device->max_coll_bytes = version == 12 ? got.v12.maxCollBytes : got.v9.maxCollBytes;
  }
  return result;
}

tw_nccl_result_t net_properties(struct driver* driver, int dev, struct device* device) {
  return properties(driver->net[kNetProperties], driver->version, dev, device);
}

tw_nccl_result_t coll_properties(struct driver* driver, int dev, struct device* device) {
  return properties(driver->coll[kCollProperties], driver->version, dev, device);
}

tw_nccl_result_t net_devices(struct driver* driver, int* count) {
  return ((tw_nccl_devices_v6_fn)driver->net[kNetDevices])(count);
}

tw_nccl_result_t coll_devices(struct driver* driver, int* count) {
  return ((tw_nccl_devices_v6_fn)driver->coll[kCollDevices])(count);
}

tw_nccl_result_t merge_devices(struct driver* driver, any_function make, int count,
                               const int* members, int* dev) {
  /* v9's struct is the beginning of v12's. */
  tw_nccl_net_vdevice_props_v12_t props = {.ndevs = count};
  memcpy(props.devs, members, sizeof props.devs);
  require(driver->version >= 9 && make != NULL, "no makeVDevice");
  return ((tw_nccl_make_vdevice_v12_fn)make)(dev, &props);
}

static tw_nccl_result_t listen_on(any_function listen, int version, void* context, int dev,
                                  void* handle, void** comm) {
  if (version >= 11) return ((tw_nccl_listen_v11_fn)listen)(context, dev, handle, comm);
  return ((tw_nccl_listen_v6_fn)listen)(dev, handle, comm);
}

tw_nccl_result_t net_listen(struct driver* driver, int dev, void* handle, void** comm) {
  return listen_on(driver->net[kNetListen], driver->version, driver->net_context, dev, handle,
                   comm);
}

tw_nccl_result_t coll_listen(struct driver* driver, int dev, void* handle, void** comm) {
  return listen_on(driver->coll[kCollListen], driver->version, driver->coll_context, dev, handle,
                   comm);
}

tw_nccl_result_t net_connect(struct driver* driver, int dev, void* handle, void** comm) {
  const any_function connect = driver->net[kNetConnect];
  tw_nccl_net_device_handle_t* offload = NULL;
  tw_nccl_net_comm_config_v10_t config = {.trafficClass = tw_nccl_undefined};
  if (driver->version >= 11) {
    return ((tw_nccl_connect_v11_fn)connect)(driver->net_context, dev, handle, comm, &offload);
  }
  if (driver->version == 10) {
    return ((tw_nccl_connect_v10_fn)connect)(dev, &config, handle, comm, &offload);
  }
  if (driver->version >= 7) {
    return ((tw_nccl_connect_v7_fn)connect)(dev, handle, comm, &offload);
  }
  return ((tw_nccl_connect_v6_fn)connect)(dev, handle, comm);
}

tw_nccl_result_t net_accept(struct driver* driver, void* listen_comm, void** comm) {
  const any_function accept = driver->net[kNetAccept];
  tw_nccl_net_device_handle_t* offload = NULL;
  if (driver->version >= 7) return ((tw_nccl_accept_v7_fn)accept)(listen_comm, comm, &offload);
  return ((tw_nccl_accept_v6_fn)accept)(listen_comm, comm);
}

static tw_nccl_result_t reg_mr(any_function function, int version, void* comm, void* data,
                               size_t bytes, int kind, void** mhandle) {
  if (version >= 8) {
    return ((tw_nccl_reg_mr_v8_fn)function)(comm, data, bytes, kind, mhandle);
  }
  return ((tw_nccl_reg_mr_v6_fn)function)(comm, data, (int)bytes, kind, mhandle);
}

tw_nccl_result_t net_reg_mr(struct driver* driver, void* comm, void* data, size_t bytes, int kind,
                            void** mhandle) {
  return reg_mr(driver->net[kNetRegMr], driver->version, comm, data, bytes, kind, mhandle);
}

tw_nccl_result_t coll_reg_mr(struct driver* driver, void* comm, void* data, size_t bytes, int kind,
                             void** mhandle) {
  return reg_mr(driver->coll[kCollRegMr], driver->version, comm, data, bytes, kind, mhandle);
}

tw_nccl_result_t net_reg_mr_dmabuf(struct driver* driver, void* comm, void* data, size_t bytes,
                                   int kind, int fd, void** mhandle) {
  return ((tw_nccl_reg_mr_dma_buf_v6_fn)driver->net[kNetRegMrDmaBuf])(comm, data, bytes, kind, 0,
                                                                      fd, mhandle);
}

tw_nccl_result_t net_dereg_mr(struct driver* driver, void* comm, void* mhandle) {
  return ((tw_nccl_dereg_mr_v6_fn)driver->net[kNetDeregMr])(comm, mhandle);
}

tw_nccl_result_t coll_dereg_mr(struct driver* driver, void* comm, void* mhandle) {
  return ((tw_nccl_dereg_mr_v6_fn)driver->coll[kCollDeregMr])(comm, mhandle);
}

tw_nccl_result_t net_isend(struct driver* driver, void* comm, void* data, size_t bytes, int tag,
                           void* mhandle, void** request) {
  const any_function isend = driver->net[kNetIsend];
  if (driver->version >= 10) {
    return ((tw_nccl_isend_v10_fn)isend)(comm, data, bytes, tag, mhandle, NULL, request);
  }
  if (driver->version == 9) {
    return ((tw_nccl_isend_v9_fn)isend)(comm, data, bytes, tag, mhandle, request);
  }
  return ((tw_nccl_isend_v6_fn)isend)(comm, data, (int)bytes, tag, mhandle, request);
}

tw_nccl_result_t net_irecv(struct driver* driver, void* comm, int n, void** data, size_t* bytes,
                           int* tags, void** mhandles, void** request) {
  const any_function irecv = driver->net[kNetIrecv];
  int narrow[16];
  void* phandles[16] = {NULL};
  if (driver->version >= 10) {
    return ((tw_nccl_irecv_v10_fn)irecv)(comm, n, data, bytes, tags, mhandles, phandles, request);
  }
  if (driver->version == 9) {
    return ((tw_nccl_irecv_v9_fn)irecv)(comm, n, data, bytes, tags, mhandles, request);
  }
  for (int i = 0; i < n && i < 16; ++i) narrow[i] = (int)bytes[i];
  return ((tw_nccl_irecv_v6_fn)irecv)(comm, n, data, narrow, tags, mhandles, request);
}

tw_nccl_result_t net_iflush(struct driver* driver, void* comm, int n, void** data, int* bytes,
                            void** mhandles, void** request) {
  return ((tw_nccl_iflush_v6_fn)driver->net[kNetIflush])(comm, n, data, bytes, mhandles, request);
}

tw_nccl_result_t net_test(struct driver* driver, void* request, int* done, int* sizes) {
  return ((tw_nccl_test_v6_fn)driver->net[kNetTest])(request, done, sizes);
}

tw_nccl_result_t net_close_send(struct driver* driver, void* comm) {
  return ((tw_nccl_close_v6_fn)driver->net[kNetCloseSend])(comm);
}

tw_nccl_result_t net_close_recv(struct driver* driver, void* comm) {
  return ((tw_nccl_close_v6_fn)driver->net[kNetCloseRecv])(comm);
}

tw_nccl_result_t net_close_listen(struct driver* driver, void* comm) {
  return ((tw_nccl_close_v6_fn)driver->net[kNetCloseListen])(comm);
}

tw_nccl_result_t coll_connect(struct driver* driver, void** handles, int ranks, int rank,
                              void* listen_comm, void** comm) {
  return ((tw_nccl_coll_connect_v6_fn)driver->coll[kCollConnect])(handles, ranks, rank, listen_comm,
                                                                  comm);
}

tw_nccl_result_t coll_reduce_support(struct driver* driver, int type, int op, int* supported) {
  return ((tw_nccl_reduce_support_v6_fn)driver->coll[kCollReduceSupport])(type, op, supported);
}

tw_nccl_result_t coll_iallreduce(struct driver* driver, void* comm, void* send, void* recv,
                                 size_t count, int type, int op, void* send_mhandle,
                                 void* recv_mhandle, void** request) {
  const any_function call = driver->coll[kCollIallreduce];
  if (driver->version >= 9) {
    return ((tw_nccl_iallreduce_v9_fn)call)(comm, send, recv, count, type, op, send_mhandle,
                                            recv_mhandle, request);
  }
  return ((tw_nccl_iallreduce_v6_fn)call)(comm, send, recv, (int)count, type, op, send_mhandle,
                                          recv_mhandle, request);
}

tw_nccl_result_t coll_iallgather(struct driver* driver, void* comm, void* send, void* recv,
                                 struct window window, void* send_mhandle, void* recv_mhandle,
                                 void** request) {
  const any_function call = driver->coll[kCollIallgather];
  if (driver->version >= 9) {
    tw_nccl_net_sge_v9_t part = {recv_mhandle, recv, window.bytes};
    return ((tw_nccl_iallgather_v9_fn)call)(comm, send, 1, &part, window.bytes_per_rank,
                                            window.offset, window.bytes, send_mhandle, request);
  }
  tw_nccl_net_sge_v8_t part = {recv_mhandle, recv, (uint32_t)window.bytes};
  return ((tw_nccl_iallgather_v8_fn)call)(comm, send, 1, &part, window.bytes_per_rank,
                                          window.offset, window.bytes, send_mhandle, request);
}

tw_nccl_result_t coll_ireducescatter(struct driver* driver, void* comm, void* send, void* recv,
                                     struct window window, int type, int op, void* send_mhandle,
                                     void* recv_mhandle, void** request) {
  const any_function call = driver->coll[kCollIreducescatter];
  if (driver->version >= 9) {
    tw_nccl_net_sge_v9_t part = {send_mhandle, send, window.bytes};
    return ((tw_nccl_ireducescatter_v9_fn)call)(comm, 1, &part, recv, window.bytes_per_rank,
                                                window.offset, window.bytes, type, op, recv_mhandle,
                                                request);
  }
  tw_nccl_net_sge_v8_t part = {send_mhandle, send, (uint32_t)window.bytes};
  return ((tw_nccl_ireducescatter_v8_fn)call)(comm, 1, &part, recv, window.bytes_per_rank,
                                              window.offset, window.bytes, type, op, recv_mhandle,
                                              request);
}

tw_nccl_result_t coll_iflush(struct driver* driver, void* comm, void* data, int bytes,
                             void* mhandle, void** request) {
  return ((tw_nccl_coll_iflush_v6_fn)driver->coll[kCollIflush])(comm, data, bytes, mhandle,
                                                                request);
}

tw_nccl_result_t coll_test(struct driver* driver, void* request, int* done, int* size) {
  return ((tw_nccl_test_v6_fn)driver->coll[kCollTest])(request, done, size);
}

tw_nccl_result_t coll_close(struct driver* driver, void* comm) {
  return ((tw_nccl_close_v6_fn)driver->coll[kCollClose])(comm);
}

tw_nccl_result_t coll_close_listen(struct driver* driver, void* comm) {
  return ((tw_nccl_close_v6_fn)driver->coll[kCollCloseListen])(comm);
}
