/* What a wrong setting leads to: an error that names it, a warning, or a refusal on all ranks.
 * usage: abi_settings LIBRARY CASE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/session.h"

enum { kVersion = 11, kRanks = 4, kOddRank = 1, kMaxWords = 6 };

static const char* library;

/* One setting, the result of init, and the words of the line that must be logged as a warning. */
struct setting {
  const char* variable;
  const char* value;
  tw_nccl_result_t expected;
  const char* words[kMaxWords];
};

static const struct setting kSettings[] = {
    {"THINWIRE_COMPRESS",
     "int9",
     tw_nccl_invalid_usage,
     {"THINWIRE_COMPRESS", "int9", "none", "fp16", "int8", NULL}},
    {"THINWIRE_COMPRES", "int8", tw_nccl_success, {"THINWIRE_COMPRES", "THINWIRE_COMPRESS", NULL}},
    {"THINWIRE_PEER_TIMEOUT_S",
     "-5",
     tw_nccl_invalid_usage,
     {"THINWIRE_PEER_TIMEOUT_S", "-5", NULL}},
    {"THINWIRE_CONNECT_TIMEOUT_S",
     "99999999999999999999",
     tw_nccl_invalid_usage,
     {"THINWIRE_CONNECT_TIMEOUT_S", "99999999999999999999", NULL}},
    {"THINWIRE_PIECE_BYTES",
     "12abc",
     tw_nccl_invalid_usage,
     {"THINWIRE_PIECE_BYTES", "12abc", NULL}},
    {"THINWIRE_SCHEDULE",
     "spiral",
     tw_nccl_invalid_usage,
     {"THINWIRE_SCHEDULE", "spiral", "ring", "direct", NULL}},
    {"THINWIRE_HWLOC_XML",
     "/nonexistent/machine.xml",
     tw_nccl_invalid_usage,
     {"/nonexistent/machine.xml", "No such file", NULL}},
    {"THINWIRE_CLUSTER_FILE",
     "/nonexistent/racks",
     tw_nccl_invalid_usage,
     {"THINWIRE_CLUSTER_FILE", "/nonexistent/racks", NULL}},
    {"THINWIRE_TUNING_FILE",
     "/nonexistent/tuning",
     tw_nccl_invalid_usage,
     {"THINWIRE_TUNING_FILE", "/nonexistent/tuning", NULL}},
    {"NCCL_SOCKET_FAMILY",
     "AF_APPLETALK",
     tw_nccl_success,
     {"NCCL_SOCKET_FAMILY", "AF_APPLETALK", NULL}},
};

static int setting_rank(struct group* group, void* argument) {
  (void)group;
  const struct setting* setting = argument;
  struct driver driver;
  setenv(setting->variable, setting->value, 1);
  driver_load(&driver, library, kVersion);
  const tw_nccl_result_t result = driver_init(&driver, record_log);
  require(result == setting->expected, "%s=%s: init returned %d", setting->variable, setting->value,
          (int)result);
  require(logged(tw_nccl_log_warn, setting->words), "%s=%s: no warning says so", setting->variable,
          setting->value);
  if (result == tw_nccl_success) driver_finalize(&driver);
  driver_unload(&driver);
  return 0;
}

/* Ranks that would compute different bits refuse to work together, and say on every rank what
 * differs and where. */
static int mismatch_rank(struct group* group, void* argument) {
  const struct setting* odd = argument;
  struct driver driver;
  void* comm = NULL;
  if (group->rank == kOddRank) setenv(odd->variable, odd->value, 1);
  driver_load(&driver, library, kVersion);
  require_success(driver_init(&driver, record_log), "init");
  const tw_nccl_result_t result = coll_open(&driver, group, &comm);
  require(result == tw_nccl_invalid_usage, "CollNet connect returned %d", (int)result);
  require(logged(tw_nccl_log_warn, odd->words), "no warning names the setting and the rank");
  driver_finalize(&driver);
  driver_unload(&driver);
  return 0;
}

static void run_mismatches(void) {
  const struct setting codec = {
      "THINWIRE_COMPRESS", "fp16", tw_nccl_invalid_usage, {"THINWIRE_COMPRESS", "on rank 1", NULL}};
  run_healthy_ranks(kRanks, mismatch_rank, (void*)&codec);

  char path[] = "/tmp/thinwire-tuning-XXXXXX";
  const int file = mkstemp(path);
  static const char kText[] = "rack.latency_us=77\n";
  require(file >= 0 && write(file, kText, sizeof kText - 1) == (ssize_t)sizeof kText - 1,
          "cannot write %s", path);
  close(file);
  const struct setting tuning = {"THINWIRE_TUNING_FILE",
                                 path,
                                 tw_nccl_invalid_usage,
                                 {"THINWIRE_TUNING_FILE", "on rank 1", NULL}};
  run_healthy_ranks(kRanks, mismatch_rank, (void*)&tuning);
  unlink(path);
}

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: abi_settings LIBRARY values|mismatch");
  library = argv[1];
  if (strcmp(argv[2], "mismatch") == 0) {
    run_mismatches();
  } else {
    for (size_t i = 0; i < sizeof kSettings / sizeof *kSettings; ++i) {
      run_healthy_ranks(1, setting_rank, (void*)&kSettings[i]);
    }
  }
  printf("%s: ok\n", argv[2]);
  return 0;
}
