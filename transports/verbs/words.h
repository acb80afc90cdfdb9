// libibverbs' codes and addresses in words that a person can act on. Pure; any thread.
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace thinwire::transports::verbs {

// "transport retry counter exceeded: ...". Never null.
const char* words_of(ibv_wc_status status);
const char* words_of(ibv_event_type event);
const char* words_of(ibv_port_state state);

// As IPv6 address, or as IPv4 address where it is mapped from one.
std::string text_of(const ibv_gid& gid);

// Of the codes of one lane and of the number of lanes, as a port tells them; 0 where unknown.
int speed_mbps(unsigned active_speed, unsigned active_width);

}  // namespace thinwire::transports::verbs
