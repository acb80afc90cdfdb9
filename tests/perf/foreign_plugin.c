/* A network plugin that has nothing to do with Thinwire, as strict as NCCL lets one be: a single
 * version of the table, one receive at a time, few requests, connections that take several calls,
 * requests refused now and then, null where a function is optional, no finalize, no CollNet.
 * Messages go over loopback TCP, each after its length. FOREIGN_VERSION: 6 or 9. One thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/nccl_abi/net_v9.h"

enum { kRequests = 8, kRefuseEvery = 5, kPatience = 3 };

#if FOREIGN_VERSION == 6
typedef int message_size;
typedef tw_nccl_net_properties_v6_t properties;
#else
typedef size_t message_size;
typedef tw_nccl_net_properties_v9_t properties;
#endif

struct request {
  struct comm* comm;
  char* data;
  uint64_t size;  /* receive: of the buffer, then of the message */
  uint64_t moved; /* of the length and the message */
  uint64_t length;
  int used;
};

struct comm {
  int fd;
  int sends;
  unsigned calls;
  unsigned first, count; /* the requests in order: a ring */
  struct request requests[kRequests];
};

static int connect_calls;

static tw_nccl_result_t foreign_init(tw_nccl_logger_t logger) {
  return logger != NULL ? tw_nccl_success : tw_nccl_invalid_argument;
}

static tw_nccl_result_t foreign_devices(int* count) {
  *count = 1;
  return tw_nccl_success;
}

static tw_nccl_result_t foreign_properties(int device, properties* out) {
  if (device != 0) return tw_nccl_invalid_argument;
  memset(out, 0, sizeof *out);
  out->name = "foreign0";
  out->ptrSupport = tw_nccl_ptr_host;
  out->speed = 1000;
  out->maxComms = 64;
  out->maxRecvs = 1;
#if FOREIGN_VERSION == 9
  out->maxP2pBytes = 1 << 20;
  out->maxCollBytes = 1 << 20;
#endif
  return tw_nccl_success;
}

static tw_nccl_result_t foreign_listen(int device, void* handle, void** comm) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (device != 0) return tw_nccl_invalid_argument;
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, size) != 0 || listen(fd, 16) != 0 ||
      getsockname(fd, (struct sockaddr*)&address, &size) != 0) {
    return tw_nccl_system_error;
  }
  memcpy(handle, &address, sizeof address);
  struct comm* listener = calloc(1, sizeof *listener);
  listener->fd = fd;
  *comm = listener;
  return tw_nccl_success;
}

static tw_nccl_result_t open_comm(int fd, int sends, void** out) {
  struct comm* comm = calloc(1, sizeof *comm);
  comm->fd = fd;
  comm->sends = sends;
  *out = comm;
  return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? tw_nccl_success : tw_nccl_system_error;
}

static tw_nccl_result_t foreign_connect(int device, void* handle, void** comm) {
  struct sockaddr_in address;
  *comm = NULL;
  if (device != 0) return tw_nccl_invalid_argument;
  if (++connect_calls % kPatience != 0) return tw_nccl_success; /* not yet */
  memcpy(&address, handle, sizeof address);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
    return tw_nccl_system_error;
  }
  return open_comm(fd, 1, comm);
}

static tw_nccl_result_t foreign_accept(void* listen_comm, void** comm) {
  const int fd = accept(((struct comm*)listen_comm)->fd, NULL, NULL);
  *comm = NULL;
  return fd < 0 ? tw_nccl_success : open_comm(fd, 0, comm);
}

static tw_nccl_result_t foreign_close(void* comm) {
  close(((struct comm*)comm)->fd);
  free(comm);
  return tw_nccl_success;
}

static tw_nccl_result_t foreign_register(void* comm, void* data, message_size size, int type,
                                         void** memory) {
  if (comm == NULL || data == NULL || size <= 0 || type != tw_nccl_ptr_host) {
    return tw_nccl_invalid_argument;
  }
  *memory = data;
  return tw_nccl_success;
}

static tw_nccl_result_t foreign_deregister(void* comm, void* memory) {
  return comm != NULL && memory != NULL ? tw_nccl_success : tw_nccl_invalid_argument;
}

static tw_nccl_result_t post(struct comm* comm, void* data, message_size size, void** request) {
  *request = NULL;
  if (comm->count == kRequests || ++comm->calls % kRefuseEvery == 0) return tw_nccl_success;
  struct request* r = &comm->requests[(comm->first + comm->count++) % kRequests];
  *r = (struct request){comm, data, (uint64_t)size, 0, (uint64_t)size, 1};
  *request = r;
  return tw_nccl_success;
}

static tw_nccl_result_t foreign_isend(void* comm, void* data, message_size size, int tag,
                                      void* memory, void** request) {
  (void)tag;
  if (!((struct comm*)comm)->sends || memory == NULL) return tw_nccl_invalid_argument;
  return post(comm, data, size, request);
}

static tw_nccl_result_t foreign_irecv(void* comm, int count, void** data, message_size* sizes,
                                      int* tags, void** memory, void** request) {
  (void)tags;
  if (count != 1 || ((struct comm*)comm)->sends || memory[0] == NULL) {
    return tw_nccl_invalid_argument;
  }
  return post(comm, data[0], sizes[0], request);
}

/* Moves what goes now of the oldest request: 1 when it is complete, -1 for a lost peer. */
static int move(struct comm* comm, struct request* r) {
  const uint64_t head = sizeof r->length;
  for (;;) {
    char* at = r->moved < head ? (char*)&r->length + r->moved : r->data + (r->moved - head);
    if (r->moved >= head && r->moved == head + r->length) return 1;
    const uint64_t left = r->moved < head ? head - r->moved : head + r->length - r->moved;
    const ssize_t n =
        comm->sends ? send(comm->fd, at, left, MSG_NOSIGNAL) : recv(comm->fd, at, left, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) return -1;
    r->moved += (uint64_t)n;
    if (r->moved == head && r->length > r->size) return -1;
  }
}

static tw_nccl_result_t foreign_test(void* request, int* done, int* size) {
  struct request* r = request;
  struct comm* comm = r->comm;
  *done = 0;
  if (!r->used) return tw_nccl_invalid_argument; /* tested after it was done */
  if (r != &comm->requests[comm->first]) return tw_nccl_success;
  const int state = move(comm, r);
  if (state < 0) return tw_nccl_remote_error;
  if (state == 0) return tw_nccl_success;
  r->used = 0;
  comm->first = (comm->first + 1) % kRequests;
  comm->count--;
  *done = 1;
  if (size != NULL) *size = (int)r->length;
  return tw_nccl_success;
}

#if FOREIGN_VERSION == 6
__attribute__((visibility("default"))) tw_nccl_net_v6_t ncclNetPlugin_v6 = {
    .connect = foreign_connect,
    .accept = foreign_accept,
#else
static tw_nccl_result_t connect_v9(int device, void* handle, void** comm,
                                   tw_nccl_net_device_handle_t** offload) {
  (void)offload;
  return foreign_connect(device, handle, comm);
}
static tw_nccl_result_t accept_v9(void* listen_comm, void** comm,
                                  tw_nccl_net_device_handle_t** offload) {
  (void)offload;
  return foreign_accept(listen_comm, comm);
}
__attribute__((visibility("default"))) tw_nccl_net_v9_t ncclNetPlugin_v9 = {
    .connect = connect_v9,
    .accept = accept_v9,
#endif
    .name = "Foreign",
    .init = foreign_init,
    .devices = foreign_devices,
    .getProperties = foreign_properties,
    .listen = foreign_listen,
    .regMr = foreign_register,
    .deregMr = foreign_deregister,
    .isend = foreign_isend,
    .irecv = foreign_irecv,
    .test = foreign_test,
    .closeSend = foreign_close,
    .closeRecv = foreign_close,
    .closeListen = foreign_close,
};
