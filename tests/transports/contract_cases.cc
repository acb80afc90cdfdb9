#include "tests/transports/contract.h"

namespace thinwire::transports::contract {

Case memory_case();  // contract_memory.cc

std::vector<Case> cases() { return {memory_case()}; }

}  // namespace thinwire::transports::contract
