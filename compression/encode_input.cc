#include "compression/encode_input.h"

#include "compression/float_bits.h"
#include "compression/reduce.h"

namespace thinwire::compression {

float largest_of(DataType type) {
  if (type == DataType::float16) return 65504.0f;
  return float_of(type == DataType::bfloat16 ? 0x7f7f0000u : 0x7f7fffffu);
}

const float* EncodeInput::floats(std::size_t first, std::size_t n) {
  const std::size_t valid = valid_of(first, n);
  const auto* direct = reinterpret_cast<const float*>(raw(first));
  const bool is_float = type_ == DataType::float32;
  if (is_float && valid == n && residual_ == nullptr) return direct;
  if (!is_float || residual_ == nullptr) load(type_, raw(first), tile_.data(), valid);
  if (residual_ != nullptr) {
    kernels().add_residual(is_float ? direct : tile_.data(), residual(first), largest_of(type_),
                           valid, tile_.data());
  }
  std::fill(tile_.begin() + valid, tile_.begin() + n, 0.0f);
  return tile_.data();
}

void EncodeInput::load_alone(std::size_t first, std::size_t n, float* to) const {
  const std::size_t valid = valid_of(first, n);
  load(type_, raw(first), to, valid);
  std::fill(to + valid, to + n, 0.0f);
}

void EncodeInput::write_raw(std::size_t first, std::size_t n, const float* x, std::byte* to,
                            float* lost) const {
  if (x != nullptr && residual_ != nullptr) {
    store(type_, x, to, n);
    load(type_, to, lost, n);
    for (std::size_t i = 0; i < n; ++i) lost[i] = x[i] - lost[i];
    return;
  }
  const std::size_t valid_bytes = valid_of(first, n) * element_bytes(type_);
  std::memcpy(to, raw(first), valid_bytes);
  std::memset(to + valid_bytes, 0, n * element_bytes(type_) - valid_bytes);
  std::fill_n(lost, n, 0.0f);
}

}  // namespace thinwire::compression
