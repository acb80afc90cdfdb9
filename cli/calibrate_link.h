// What plain TCP makes of a link: for `thinwire calibrate`. Main thread only; everything blocks and
// says on standard error what failed.
#pragma once

#include <string>

#include "base/status.h"
#include "collectives/cost_constants.h"

namespace thinwire::cli {

struct LinkMeasurement {
  collectives::LinkCost link;  // half a round trip of one byte; payload one way
  double message_us = 0;       // a thread's time for sending one short message
};

// Between two threads of this process.
Result<LinkMeasurement> measure_loopback();

// To answer_link_measurements() at "ADDRESS:PORT". About two seconds.
Result<LinkMeasurement> measure_link(const std::string& address);

// Answers until one measurement is done; the exit status.
int answer_link_measurements(int port);

}  // namespace thinwire::cli
