/* Thinwire's own exported interface, besides NCCL's tables: counters of this process.
 *
 * C11 and C++. Find it with dlsym(library, "thinwireCounters_v1"). Any thread; does not block. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the process since the library was loaded, living and closed communicators alike. */
typedef struct thinwire_counters_v1 {
  size_t size;      /* set by the caller: sizeof(thinwire_counters_v1_t) as it knows it */
  uint32_t version; /* set by the library: 1 */
  uint32_t reserved;
  uint64_t bytes_sent;   /* on the wire, headers included */
  uint64_t payload_sent; /* the messages' bytes */
  uint64_t messages_sent;
  uint64_t unexpected_bytes;  /* arrived before their receive was posted, copied once more */
  uint64_t strangers_refused; /* connections to a listener without its token */
  uint64_t sends;             /* operations accepted, by kind */
  uint64_t receives;
  uint64_t all_reduces;
  uint64_t all_gathers;
  uint64_t reduce_scatters;
  uint64_t flushes;
  /* Of the all-reduces, where tensor identity is wanted; communicators that lost it. */
  uint64_t tensors_identified;
  uint64_t tensors_unidentified;
  uint64_t identities_switched_off;
  uint64_t near_bytes; /* messages' bytes between ranks of one host, not among those above */
} thinwire_counters_v1_t;

/* Fills *counters up to counters->size bytes (a later library may know more). Returns 0, or -1 if
 * counters is null or size does not even cover `version`. */
int thinwireCounters_v1(thinwire_counters_v1_t* counters);

typedef int (*thinwire_counters_v1_fn)(thinwire_counters_v1_t* counters);

#ifdef __cplusplus
}
#endif
