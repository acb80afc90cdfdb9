#include "tests/abi/harness.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kLogLines = 512, kLogColumns = 1024, kReadEnd = 0, kWriteEnd = 1 };

static char log_lines[kLogLines][kLogColumns];
static tw_nccl_log_level_t log_levels[kLogLines];
static int log_count;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "[%d] FAILED: ", (int)getpid());
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  for (int i = 0; i < log_count; ++i) fprintf(stderr, "[%d]   log: %s\n", getpid(), log_lines[i]);
  exit(1);
}

void require(bool condition, const char* format, ...) {
  char message[512];
  if (condition) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  fail("%s", message);
}

void require_success(tw_nccl_result_t result, const char* what) {
  require(result == tw_nccl_success, "%s returned %d", what, (int)result);
}

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void give_way(void) { sched_yield(); }

/* Leaves `rank` with its own ends of the pipes only: a dead rank then shows as end of file. */
static void take_pipes(int pipes[kMaxRanks][kMaxRanks][2], int rank, int ranks,
                       struct group* group) {
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a == b) continue;
      if (a == rank) {
        group->to[b] = pipes[a][b][kWriteEnd];
      } else {
        close(pipes[a][b][kWriteEnd]);
      }
      if (b == rank) {
        group->from[a] = pipes[a][b][kReadEnd];
      } else {
        close(pipes[a][b][kReadEnd]);
      }
    }
  }
}

static int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* Waits for one child until the deadline; false when it is still running. */
static bool reap(pid_t child, double deadline, int* status) {
  for (;;) {
    int wait_status = 0;
    const pid_t got = waitpid(child, &wait_status, WNOHANG);
    if (got == child) {
      *status = status_of(wait_status);
      return true;
    }
    if (got < 0) fail("waitpid: %s", strerror(errno));
    if (seconds_now() > deadline) return false;
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
}

struct outcome run_ranks(int ranks, rank_function function, void* argument, int victim,
                         int seconds) {
  int pipes[kMaxRanks][kMaxRanks][2];
  pid_t children[kMaxRanks];
  struct outcome outcome = {{0}};
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a != b && pipe(pipes[a][b]) != 0) fail("pipe: %s", strerror(errno));
    }
  }
  fflush(NULL);
  for (int rank = 0; rank < ranks; ++rank) {
    children[rank] = fork();
    if (children[rank] < 0) fail("fork: %s", strerror(errno));
    if (children[rank] == 0) {
      struct group group = {.rank = rank, .ranks = ranks};
      take_pipes(pipes, rank, ranks, &group);
      exit(function(&group, argument));
    }
  }
  struct group none = {.rank = -1};
  take_pipes(pipes, -1, ranks, &none);
  const double deadline = seconds_now() + seconds;
  bool late = false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != victim && !reap(children[rank], deadline, &outcome.status[rank])) late = true;
    if (late) break;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (late || rank == victim) {
      kill(children[rank], SIGKILL);
      if (!reap(children[rank], seconds_now() + 10, &outcome.status[rank])) fail("cannot reap");
    }
  }
  if (late) fail("a rank still ran after %d s", seconds);
  return outcome;
}

void run_healthy_ranks(int ranks, rank_function function, void* argument) {
  const struct outcome outcome = run_ranks(ranks, function, argument, -1, kDeadlineSeconds);
  for (int rank = 0; rank < ranks; ++rank) {
    require(outcome.status[rank] == 0, "rank %d ended with %d", rank, outcome.status[rank]);
  }
}

static void transfer(bool writes, int descriptor, char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t moved = writes ? write(descriptor, data, bytes) : read(descriptor, data, bytes);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) fail("another rank is gone");
    data += moved;
    bytes -= (size_t)moved;
  }
}

void exchange(struct group* group, const void* mine, size_t bytes, void* all) {
  for (int rank = 0; rank < group->ranks; ++rank) {
    char* slot = (char*)all + (size_t)rank * bytes;
    if (rank == group->rank) {
      memmove(slot, mine, bytes);
    } else {
      transfer(true, group->to[rank], (char*)mine, bytes);
    }
  }
  for (int rank = 0; rank < group->ranks; ++rank) {
    if (rank == group->rank) continue;
    transfer(false, group->from[rank], (char*)all + (size_t)rank * bytes, bytes);
  }
}

void barrier(struct group* group) {
  char all[kMaxRanks];
  exchange(group, "b", 1, all);
}

static int entries_of(const char* directory, const char* target_prefix) {
  char path[PATH_MAX];
  char target[PATH_MAX];
  int count = 0;
  DIR* opened = opendir(directory);
  if (opened == NULL) fail("opendir %s: %s", directory, strerror(errno));
  for (struct dirent* entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
    if (entry->d_name[0] == '.') continue;
    if (target_prefix != NULL) {
      snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
      const ssize_t length = readlink(path, target, sizeof target - 1);
      target[length < 0 ? 0 : length] = '\0';
      if (strncmp(target, target_prefix, strlen(target_prefix)) != 0) continue;
    }
    ++count;
  }
  closedir(opened);
  return count;
}

#ifdef __SANITIZE_THREAD__
static void* nothing(void* argument) { return argument; }

/* ThreadSanitizer adds a thread of its own to a forked process's first one, and keeps it. */
static void start_threads_of_sanitizer(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
}
#else
static void start_threads_of_sanitizer(void) {}
#endif

struct traces traces_now(void) {
  start_threads_of_sanitizer();
  const struct traces now = {.threads = entries_of("/proc/self/task", NULL),
                             .descriptors = entries_of("/proc/self/fd", NULL),
                             .sockets = entries_of("/proc/self/fd", "socket:")};
  return now;
}

void require_no_more_than(struct traces before, const char* when) {
  struct traces now = traces_now();
  const double deadline = seconds_now() + 10;
  while (now.threads > before.threads && seconds_now() < deadline) {
    give_way();
    now = traces_now();
  }
  require(now.threads <= before.threads && now.descriptors <= before.descriptors &&
              now.sockets <= before.sockets,
          "%s: %d threads, %d descriptors, %d sockets; before %d, %d, %d", when, now.threads,
          now.descriptors, now.sockets, before.threads, before.descriptors, before.sockets);
}

int mapped_parts(const char* name) {
  char line[PATH_MAX + 128];
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) fail("/proc/self/maps: %s", strerror(errno));
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, name) != NULL;
  fclose(maps);
  return count;
}

void record_log(tw_nccl_log_level_t level, unsigned long flags, const char* file, int line,
                const char* format, ...) {
  (void)flags;
  (void)file;
  (void)line;
  pthread_mutex_lock(&log_mutex);
  if (log_count < kLogLines) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(log_lines[log_count], kLogColumns, format, arguments);
    va_end(arguments);
    log_levels[log_count] = level;
    ++log_count;
  }
  pthread_mutex_unlock(&log_mutex);
}

bool logged(tw_nccl_log_level_t level, const char* const* words) {
  bool found = false;
  pthread_mutex_lock(&log_mutex);
  for (int i = 0; i < log_count && !found; ++i) {
    found = log_levels[i] <= level;
    for (const char* const* word = words; *word != NULL && found; ++word) {
      found = strstr(log_lines[i], *word) != NULL;
    }
  }
  pthread_mutex_unlock(&log_mutex);
  return found;
}
