/* Connections that no job asked for: garbage, another protocol, a long silence, a hang-up. They
 * never disturb the job whose listener they find, and those that speak are counted.
 * usage: abi_strangers LIBRARY */
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/thinwire.h"
#include "tests/abi/session.h"

enum { kVersion = 12, kMaxPorts = 16, kSpeaking = 3, kListening = 0x0a };

static const char* library;

struct ports {
  int count;
  int port[kMaxPorts];
};

/* True if one of this process's descriptors is the socket with that inode. */
static bool owns_socket(unsigned long inode) {
  bool owns = false;
  DIR* descriptors = opendir("/proc/self/fd");
  if (descriptors == NULL) fail("/proc/self/fd: %s", strerror(errno));
  for (struct dirent* entry = readdir(descriptors); entry != NULL && !owns;
       entry = readdir(descriptors)) {
    struct stat status;
    owns = fstat(atoi(entry->d_name), &status) == 0 && S_ISSOCK(status.st_mode) &&
           status.st_ino == inode;
  }
  closedir(descriptors);
  return owns;
}

/* The ports this process listens on, as anyone who scans ports would find them. */
static struct ports listening_ports(const char* table) {
  struct ports ports = {0};
  char line[512];
  FILE* file = fopen(table, "r");
  if (file == NULL) return ports;
  while (fgets(line, sizeof line, file) != NULL && ports.count < kMaxPorts) {
    unsigned port = 0;
    unsigned state = 0;
    unsigned long inode = 0;
    if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f:] %x %*s %*s %*s %*s %*s %lu", &port,
               &state, &inode) != 3) {
      continue;
    }
    if (state == kListening && owns_socket(inode)) ports.port[ports.count++] = (int)port;
  }
  fclose(file);
  return ports;
}

static int dial(int family, int port) {
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v6.sin6_addr = in6addr_loopback;
  const int descriptor = socket(family, SOCK_STREAM, 0);
  const struct sockaddr* address =
      family == AF_INET ? (const struct sockaddr*)&v4 : (const struct sockaddr*)&v6;
  const socklen_t length = family == AF_INET ? sizeof v4 : sizeof v6;
  if (connect(descriptor, address, length) != 0) fail("dial port %d: %s", port, strerror(errno));
  return descriptor;
}

/* Every kind of stranger at one port; the silent ones stay connected. */
static void visit(int family, int port) {
  static const char kRequest[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  char noise[4096];
  for (size_t i = 0; i < sizeof noise; ++i) noise[i] = (char)(i * 37 + 11);
  const int talkers[kSpeaking] = {dial(family, port), dial(family, port), dial(family, port)};
  require(write(talkers[0], noise, sizeof noise) == sizeof noise, "write");
  require(write(talkers[1], kRequest, sizeof kRequest) == sizeof kRequest, "write");
  memset(noise, 0, sizeof noise);
  require(write(talkers[2], noise, sizeof noise) == sizeof noise, "write");
  const int slow = dial(family, port);
  require(write(slow, noise, 1) == 1, "write");
  (void)dial(family, port);
  close(dial(family, port));
}

static uint64_t refused_so_far(struct driver* driver) {
  thinwire_counters_v1_t counters = {.size = sizeof counters};
  thinwire_counters_v1_fn read_counters = NULL;
  void* symbol = dlsym(driver->library, "thinwireCounters_v1");
  memcpy(&read_counters, &symbol, sizeof symbol);
  require(read_counters != NULL && read_counters(&counters) == 0, "no counters");
  return counters.strangers_refused;
}

/* Visits every listener of this process, net and CollNet. */
static int visit_all(void) {
  const struct ports v4 = listening_ports("/proc/self/net/tcp");
  const struct ports v6 = listening_ports("/proc/self/net/tcp6");
  for (int i = 0; i < v4.count; ++i) visit(AF_INET, v4.port[i]);
  for (int i = 0; i < v6.count; ++i) visit(AF_INET6, v6.port[i]);
  return v4.count + v6.count;
}

static int rank_main(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  void* listen = NULL;
  void* comm = NULL;
  driver_load(&driver, library, kVersion);
  require_success(driver_init(&driver, record_log), "init");
  require_success(net_listen(&driver, 0, handle, &listen), "listen");
  require(visit_all() > 0, "found no listener to visit");
  exchange(group, handle, sizeof handle, handles);
  const double deadline = seconds_now() + kDeadlineSeconds;
  void* send = NULL;
  void* receive = NULL;
  while (send == NULL || receive == NULL || refused_so_far(&driver) < kSpeaking) {
    void* another = NULL;
    if (send == NULL) {
      require_success(net_connect(&driver, 0, handles[1 - group->rank], &send), "connect");
    }
    require_success(net_accept(&driver, listen, receive == NULL ? &receive : &another), "accept");
    require(another == NULL, "a stranger was accepted");
    require(seconds_now() < deadline, "not connected, or only %d strangers counted",
            (int)refused_so_far(&driver));
    give_way();
  }
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(all_reduce_checked(&driver, group, comm, 100000), "all-reduce");
  barrier(group);
  require_success(coll_close(&driver, comm), "closeColl");
  require_success(net_close_send(&driver, send), "closeSend");
  require_success(net_close_recv(&driver, receive), "closeRecv");
  require_success(net_close_listen(&driver, listen), "closeListen");
  driver_finalize(&driver);
  driver_unload(&driver);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: abi_strangers LIBRARY");
  library = argv[1];
  run_healthy_ranks(2, rank_main, NULL);
  printf("strangers: ok\n");
  return 0;
}
