#include "compression/reduce.h"

#include <cstring>

#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

void copy(void* to, const void* from, DataType type, std::size_t count) {
  if (count != 0 && to != from) std::memcpy(to, from, count * element_bytes(type));
}

}  // namespace

void load(DataType type, const void* elements, void* accumulator, std::size_t count) {
  if (const auto kernel = kernels().load[static_cast<int>(type)]) {
    kernel(elements, accumulator, count);
  } else {
    copy(accumulator, elements, type, count);
  }
}

void reduce(DataType type, ReduceOp op, const void* elements, void* accumulator,
            std::size_t count) {
  kernels().reduce[static_cast<int>(op)][static_cast<int>(type)](elements, accumulator, count);
}

void store(DataType type, const void* accumulator, void* elements, std::size_t count) {
  if (const auto kernel = kernels().store[static_cast<int>(type)]) {
    kernel(accumulator, elements, count);
  } else {
    copy(elements, accumulator, type, count);
  }
}

}  // namespace thinwire::compression
