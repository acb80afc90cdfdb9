#include "tests/transports/contract.h"

namespace thinwire::transports::contract {

std::vector<Case> cases() { return {}; }

}  // namespace thinwire::transports::contract
