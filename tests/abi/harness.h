/* What the C tests need around the library: ranks as forked processes that talk over pipes, time,
 * the traces a library leaves in a process, and NCCL's logger as a recorder. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/nccl_abi/types.h"

enum { kMaxRanks = 8, kDeadlineSeconds = 90 };

/* This process among the ranks. from[r] and to[r] are pipes to rank r, unused for itself. */
struct group {
  int rank;
  int ranks;
  int from[kMaxRanks];
  int to[kMaxRanks];
};

/* Runs in a child; what it returns is the child's exit status. */
typedef int (*rank_function)(struct group* group, void* argument);

/* How each rank ended: exit status, or 128 + signal. */
struct outcome {
  int status[kMaxRanks];
};

/* Forks `ranks` children and waits for all but `victim` (-1: none), which is then killed, if it
 * still is there, and reaped. Kills everything and fails after `seconds`. */
struct outcome run_ranks(int ranks, rank_function function, void* argument, int victim,
                         int seconds);

/* run_ranks where every rank must exit with 0. */
void run_healthy_ranks(int ranks, rank_function function, void* argument);

/* Everyone gives `bytes` from `mine`; all[r * bytes] becomes rank r's. At most 512 bytes. */
void exchange(struct group* group, const void* mine, size_t bytes, void* all);
void barrier(struct group* group);

/* Prints the message and exits with 1. */
void fail(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* fail() unless `condition`. */
void require(bool condition, const char* format, ...) __attribute__((format(printf, 2, 3)));
void require_success(tw_nccl_result_t result, const char* what);

double seconds_now(void);
/* Gives way to the other processes while polling. */
void give_way(void);

/* What the process holds now. */
struct traces {
  int threads;
  int descriptors;
  int sockets;
};
struct traces traces_now(void);
/* Waits until the process holds no more than `before`: the kernel removes a joined thread from
 * /proc shortly after. */
void require_no_more_than(struct traces before, const char* when);
/* Lines of /proc/self/maps that name the library. */
int mapped_parts(const char* name);

/* A logger that keeps the lines; fail() prints them. */
void record_log(tw_nccl_log_level_t level, unsigned long flags, const char* file, int line,
                const char* format, ...) __attribute__((format(printf, 5, 6)));
/* True where one recorded line of at least this severity has every word of the null-ended list. */
bool logged(tw_nccl_log_level_t level, const char* const* words);
