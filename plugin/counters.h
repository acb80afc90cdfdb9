// Sums of transport counters. Values.
#pragma once

#include "transports/transport.h"

namespace thinwire::transports {

inline Counters& operator+=(Counters& sum, const Counters& more) {
  sum.bytes_sent += more.bytes_sent;
  sum.payload_sent += more.payload_sent;
  sum.messages_sent += more.messages_sent;
  sum.unexpected_bytes += more.unexpected_bytes;
  sum.strangers_refused += more.strangers_refused;
  sum.near_bytes += more.near_bytes;
  return sum;
}

}  // namespace thinwire::transports
