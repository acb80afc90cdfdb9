// The entry point of libFuzzer, and of anything that speaks its convention:
//   clang++ -fsanitize=fuzzer,address ... fuzz_decode.cc decode_frame.cc && ./a.out
//   tests/fuzz/corpus

#include "tests/fuzz/decode_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  thinwire::fuzz::decode_frame({data, size});
  return 0;
}
