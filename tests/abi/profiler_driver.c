#include "tests/abi/profiler_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/nccl_abi/profiler_v1.h"
#include "base/nccl_abi/profiler_v2.h"
#include "base/nccl_abi/profiler_v3.h"
#include "base/nccl_abi/profiler_v4.h"
#include "base/nccl_abi/profiler_v6.h"
#include "tests/abi/harness.h"

/* The tables differ in init and in the descriptor alone (held by profiler_layout_test.cc). */
union event {
  tw_nccl_profiler_event_v1_t v1;
  tw_nccl_profiler_event_v2_t v2;
  tw_nccl_profiler_event_v3_t v3;
  tw_nccl_profiler_event_v4_t v4;
  tw_nccl_profiler_event_v5_t v5;
  tw_nccl_profiler_event_v6_t v6;
};

typedef tw_nccl_result_t (*start_function)(void* context, void** handle, union event* event);

static const tw_nccl_profiler_v1_t* plain(const struct profiler* profiler) {
  return profiler->table;
}

void profiler_load(struct profiler* profiler, const char* path, int version) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
  profiler->version = version;
  profiler->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (profiler->library == NULL) fail("dlopen: %s", dlerror());
  profiler->table = dlsym(profiler->library, symbol);
  require(profiler->table != NULL, "no symbol %s", symbol);
  require(strcmp(plain(profiler)->name, "Thinwire") == 0, "%s has another name", symbol);
}

void profiler_unload(struct profiler* profiler) {
  require(dlclose(profiler->library) == 0, "dlclose: %s", dlerror());
}

tw_nccl_result_t profiler_init(struct profiler* profiler, void** context, int* mask,
                               struct communicator comm) {
  *mask = -1;
  if (profiler->version >= 5) {
    const tw_nccl_profiler_v5_t* table = profiler->table;
    return table->init(context, comm.hash, mask, "name", comm.nodes, comm.ranks, comm.rank, NULL);
  }
  if (profiler->version == 4) {
    const tw_nccl_profiler_v4_t* table = profiler->table;
    return table->init(context, mask, "name", comm.hash, comm.nodes, comm.ranks, comm.rank, NULL);
  }
  return plain(profiler)->init(context, mask);
}

tw_nccl_result_t profiler_finalize(struct profiler* profiler, void* context) {
  return plain(profiler)->finalize(context);
}

static void set_type(union event* event, int version, int type) {
  if (version >= 5) {
    event->v5.type = (uint64_t)type;
  } else {
    event->v1.type = (uint8_t)type;
  }
}

static void* start(struct profiler* profiler, void* context, union event* event) {
  void* handle = (void*)event;
  start_function function;
  memcpy(&function, &plain(profiler)->startEvent, sizeof function);
  require_success(function(context, &handle, event), "startEvent");
  require(handle != (void*)event, "startEvent left *handle as it was");
  return handle;
}

static const char* type_name(int type) {
  return type == tw_nccl_float32 ? "ncclFloat32" : type == tw_nccl_int32 ? "ncclInt32" : "Unknown";
}

static void fill_numbers(tw_nccl_profiler_coll_v1_t* coll, const struct collective* from) {
  *coll = (tw_nccl_profiler_coll_v1_t){
      .commHash = from->hash,
      .seqNumber = from->sequence,
      .func = strcmp(from->function, "AllReduce") == 0 ? tw_nccl_profiler_all_reduce_v1 : 2,
      .sendBuff = from->send,
      .recvBuff = from->receive,
      .count = from->count,
      .datatype = (uint8_t)from->type,
      .algo = strcmp(from->algorithm, "COLLNET_CHAIN") == 0    ? tw_nccl_profiler_collnet_chain_v1
              : strcmp(from->algorithm, "COLLNET_DIRECT") == 0 ? tw_nccl_profiler_collnet_direct_v1
                                                               : 1,
      .isCollnet = 1};
}

static void fill_text(tw_nccl_profiler_coll_v4_t* coll, const struct collective* from) {
  *coll = (tw_nccl_profiler_coll_v4_t){.seqNumber = from->sequence,
                                       .func = from->function,
                                       .sendBuff = from->send,
                                       .recvBuff = from->receive,
                                       .count = from->count,
                                       .datatype = type_name(from->type),
                                       .algo = from->algorithm,
                                       .proto = "SIMPLE"};
}

/* v2 and v3, whose text is v4's in other places. */
static void fill_old_text(union event* event, int version, const tw_nccl_profiler_coll_v4_t* text,
                          uint64_t hash) {
  if (version == 2) {
    event->v2.coll = (tw_nccl_profiler_coll_v2_t){.commHash = hash,
                                                  .seqNumber = text->seqNumber,
                                                  .func = text->func,
                                                  .sendBuff = text->sendBuff,
                                                  .recvBuff = text->recvBuff,
                                                  .count = text->count,
                                                  .datatype = text->datatype,
                                                  .algo = text->algo,
                                                  .proto = text->proto};
  } else {
    event->v3.coll = (tw_nccl_profiler_coll_v3_t){.commHash = hash,
                                                  .seqNumber = text->seqNumber,
                                                  .func = text->func,
                                                  .sendBuff = text->sendBuff,
                                                  .recvBuff = text->recvBuff,
                                                  .count = text->count,
                                                  .datatype = text->datatype,
                                                  .algo = text->algo,
                                                  .proto = text->proto};
  }
}

void* profiler_collective(struct profiler* profiler, void* context,
                          const struct collective* collective) {
  union event event;
  tw_nccl_profiler_coll_v4_t text;
  memset(&event, 0, sizeof event);
  set_type(&event, profiler->version, tw_nccl_profile_coll);
  fill_text(&text, collective);
  if (profiler->version == 1) {
    fill_numbers(&event.v1.coll, collective);
  } else if (profiler->version < 4) {
    fill_old_text(&event, profiler->version, &text, collective->hash);
  } else {
    event.v4.coll = text; /* v5 and v6 begin as v4 does */
  }
  return start(profiler, context, &event);
}

void* profiler_part(struct profiler* profiler, void* context, const struct part* part) {
  union event event;
  memset(&event, 0, sizeof event);
  set_type(&event, profiler->version, tw_nccl_profile_proxy_op);
  event.v1.parentObj = (void*)part->parent;
  event.v1.proxyOp = (tw_nccl_profiler_proxy_op_v1_t){.pid = part->pid,
                                                      .channelId = (uint8_t)part->channel,
                                                      .peer = -1,
                                                      .nSteps = part->steps,
                                                      .chunkSize = part->chunk_bytes,
                                                      .isSend = part->is_send};
  return start(profiler, context, &event);
}

void* profiler_other(struct profiler* profiler, void* context, int kind) {
  union event event;
  memset(&event, 0xab, sizeof event); /* nothing of it may be read */
  memset(&event.v5.type, 0, sizeof event.v5.type);
  set_type(&event, profiler->version, kind);
  return start(profiler, context, &event);
}

void profiler_stop(struct profiler* profiler, void* handle) {
  if (handle != NULL) require_success(plain(profiler)->stopEvent(handle), "stopEvent");
}

void profiler_noise(struct profiler* profiler, void* context) {
  static const int kKinds[] = {6, 6, 6, 8, 8, 12, 15};
  for (int bit = 0; bit < kKinds[profiler->version]; ++bit) {
    const int kind = 1 << bit;
    if (kind == tw_nccl_profile_coll || kind == tw_nccl_profile_proxy_op) continue;
    void* handle = profiler_other(profiler, context, kind);
    require(handle != NULL, "event of kind %d has no handle", kind);
    char arguments[16] = {0};
    require_success(plain(profiler)->recordEventState(handle, bit, arguments), "recordEventState");
    profiler_stop(profiler, handle);
  }
}
