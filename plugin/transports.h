// Which transport moves this process's bytes: built from the configuration by the composition
// root.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// The transport that THINWIRE_TRANSPORT names, with whatever it stands on. Never null; probe()
// says whether it can be used. `log` and `clock` outlive it.
std::unique_ptr<transports::Transport> make_transport(const Config& config, const Log& log,
                                                      const Clock& clock);

// The transport between ranks of one host: shared memory, with TCP on the loopback interface for
// set-up. Null where THINWIRE_SHM says so. `log` and `clock` outlive it.
std::unique_ptr<transports::Transport> make_near_transport(const Config& config, const Log& log,
                                                           const Clock& clock);

}  // namespace thinwire::plugin
