// Single precision of one lane: IEEE 754, round to nearest even, one rounding an operation, subnormals kept.

// .sat: to [0, 1], NaN to 0.
static inline uint32_t saturated(uint32_t bits) {
  const float value = as_float(bits);
  if (!(value > 0.0f)) return 0;
  return value > 1.0f ? as_bits(1.0f) : bits;
}

template <bool kSat>
static inline uint32_t finish(float value) {
  const uint32_t bits = canonical(value);
  return kSat ? saturated(bits) : bits;
}

template <bool kSat>
struct FloatAdd {
  static uint32_t of(uint32_t a, uint32_t b) { return finish<kSat>(as_float(a) + as_float(b)); }
};
template <bool kSat>
struct FloatSub {
  static uint32_t of(uint32_t a, uint32_t b) { return finish<kSat>(as_float(a) - as_float(b)); }
};
template <bool kSat>
struct FloatMul {
  static uint32_t of(uint32_t a, uint32_t b) { return finish<kSat>(as_float(a) * as_float(b)); }
};
template <bool kSat>
struct FloatFma {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    return finish<kSat>(__builtin_fmaf(as_float(a), as_float(b), as_float(c)));
  }
};
struct FloatDiv {
  static uint32_t of(uint32_t a, uint32_t b) { return canonical(as_float(a) / as_float(b)); }
};
struct FloatReciprocal {
  static uint32_t of(uint32_t a) { return canonical(1.0f / as_float(a)); }
};
struct FloatSqrt {
  static uint32_t of(uint32_t a) { return canonical(__builtin_sqrtf(as_float(a))); }
};
struct FloatAbs {
  static uint32_t of(uint32_t a) { return a & 0x7fffffffu; }
};
struct FloatNeg {
  static uint32_t of(uint32_t a) { return a ^ 0x80000000u; }
};
// A NaN loses against a number, -0 is less than +0.
struct FloatMin {
  static uint32_t of(uint32_t a, uint32_t b) {
    const float x = as_float(a), y = as_float(b);
    const uint32_t ordered = x < y ? a : x == y ? a | b : b;
    return x != x ? canonical(y) : y != y ? a : ordered;
  }
};
struct FloatMax {
  static uint32_t of(uint32_t a, uint32_t b) {
    const float x = as_float(a), y = as_float(b);
    const uint32_t ordered = x > y ? a : x == y ? a & b : b;
    return x != x ? canonical(y) : y != y ? a : ordered;
  }
};

static Handlers float_handlers(const ptx::Instruction& in) {
  const bool sat = in.saturate;
  switch (in.opcode) {
    case ptx::Opcode::add:
      return sat ? binary_pair<FloatAdd<true>, uint32_t>() : binary_pair<FloatAdd<false>, uint32_t>();
    case ptx::Opcode::sub:
      return sat ? binary_pair<FloatSub<true>, uint32_t>() : binary_pair<FloatSub<false>, uint32_t>();
    case ptx::Opcode::mul:
      return sat ? binary_pair<FloatMul<true>, uint32_t>() : binary_pair<FloatMul<false>, uint32_t>();
    case ptx::Opcode::fma:
      return sat ? ternary_pair<FloatFma<true>, uint32_t>() : ternary_pair<FloatFma<false>, uint32_t>();
    case ptx::Opcode::div:
      return binary_pair<FloatDiv, uint32_t>();
    case ptx::Opcode::rcp:
      return unary_pair<FloatReciprocal, uint32_t, uint32_t>();
    case ptx::Opcode::sqrt:
      return unary_pair<FloatSqrt, uint32_t, uint32_t>();
    case ptx::Opcode::abs:
      return unary_pair<FloatAbs, uint32_t, uint32_t>();
    case ptx::Opcode::neg:
      return unary_pair<FloatNeg, uint32_t, uint32_t>();
    case ptx::Opcode::min:
      return binary_pair<FloatMin, uint32_t>();
    case ptx::Opcode::max:
      return binary_pair<FloatMax, uint32_t>();
    default:
      return {};
  }
}
