#include "compression/kernels/simd.inc.h"

namespace thinwire::compression {

const Kernels& avx512_kernels() {
  static const Kernels kKernels = make_simd_kernels();
  return kKernels;
}

}  // namespace thinwire::compression
