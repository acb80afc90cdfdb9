// Reductions, loads and stores of reduce.h on vectors; the last elements of each array go through
// plain.inc.h. Part of simd.inc.h.

template <ReduceOp op, class D, class V>
V simd_combine(D d, V a, V b) {
  if constexpr (op == ReduceOp::sum) return canonical_nan(d, hn::Add(a, b));
  if constexpr (op == ReduceOp::prod) return canonical_nan(d, hn::Mul(a, b));
  if constexpr (op == ReduceOp::max || op == ReduceOp::min) {
    const V picked = op == ReduceOp::max ? hn::Max(a, b) : hn::Min(a, b);
    // Equal operands can differ only as +0 and -0.
    const V equal = op == ReduceOp::max ? hn::And(a, b) : hn::Or(a, b);
    const V chosen = hn::IfThenElse(hn::Eq(a, b), equal, picked);
    const auto is_nan = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
    return hn::IfThenElse(is_nan, nan_vector(d), chosen);
  }
}

// Element types as vectors. Scalar is the same type one element at a time.
struct VectorFloat32 {
  using Tag = F32;
  using Scalar = Plain<float>;
  static Floats load(const std::uint8_t* from) { return float32_at(from); }
};
struct VectorFloat64 {
  using Tag = F64;
  using Scalar = Plain<double>;
  static hn::Vec<F64> load(const std::uint8_t* from) {
    return hn::BitCast(F64(), hn::LoadU(hn::Repartition<std::uint8_t, F64>(), from));
  }
};
struct VectorFloat16 {
  using Tag = F32;
  using Scalar = Float16;
  static Floats load(const std::uint8_t* from) { return float16_at(from); }
  static void store(Floats value, std::uint8_t* to) { store_float16(value, to); }
};
struct VectorBfloat16 {
  using Tag = F32;
  using Scalar = Bfloat16;
  static Floats load(const std::uint8_t* from) { return bfloat16_at(from); }
  static void store(Floats value, std::uint8_t* to) { store_bfloat16(value, to); }
};

template <class Type>
constexpr std::size_t kElementBytes = sizeof(typename Type::Scalar::Element);

template <class Type, ReduceOp op>
void simd_reduce(const void* elements, void* accumulator, std::size_t count) {
  using A = typename Type::Scalar::Accumulator;
  const typename Type::Tag d;
  constexpr std::size_t kStep = HWY_LANES(A);
  const auto* from = static_cast<const std::uint8_t*>(elements);
  auto* to = static_cast<A*>(accumulator);
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const auto element = Type::load(from + i * kElementBytes<Type>);
    hn::StoreU(simd_combine<op>(d, hn::LoadU(d, to + i), element), d, to + i);
  }
  reduce<op, typename Type::Scalar>(from + i * kElementBytes<Type>, to + i, count - i);
}

template <class Type>
void simd_load(const void* elements, void* accumulator, std::size_t count) {
  const auto* from = static_cast<const std::uint8_t*>(elements);
  auto* to = static_cast<float*>(accumulator);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Type::load(from + i * kElementBytes<Type>), F32(), to + i);
  }
  load<typename Type::Scalar>(from + i * kElementBytes<Type>, to + i, count - i);
}

template <class Type>
void simd_store(const void* accumulator, void* elements, std::size_t count) {
  const auto* from = static_cast<const float*>(accumulator);
  auto* to = static_cast<std::uint8_t*>(elements);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Type::store(hn::LoadU(F32(), from + i), to + i * kElementBytes<Type>);
  }
  store<typename Type::Scalar>(from + i, to + i * kElementBytes<Type>, count - i);
}

template <class Type>
void set_simd_reduce(Kernels& k, DataType type) {
  const auto t = static_cast<int>(type);
  k.reduce[static_cast<int>(ReduceOp::sum)][t] = simd_reduce<Type, ReduceOp::sum>;
  k.reduce[static_cast<int>(ReduceOp::prod)][t] = simd_reduce<Type, ReduceOp::prod>;
  k.reduce[static_cast<int>(ReduceOp::max)][t] = simd_reduce<Type, ReduceOp::max>;
  k.reduce[static_cast<int>(ReduceOp::min)][t] = simd_reduce<Type, ReduceOp::min>;
}

template <class Type>
void set_simd_converted(Kernels& k, DataType type) {
  const auto t = static_cast<int>(type);
  k.load[t] = simd_load<Type>;
  k.store[t] = simd_store<Type>;
  set_simd_reduce<Type>(k, type);
}
