#include "transports/random.h"

#include <sys/random.h>

namespace thinwire::transports {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    if (::getrandom(&number, sizeof number, 0) != sizeof number) number = 0;
  }
  return number;
}

}  // namespace thinwire::transports
