// cvt: between integers of all widths and f32, with every rounding and saturation. A result narrower than its register
// is extended with its sign.

// Integer to integer.
template <typename D, typename S, bool kSat>
struct IntegerToInteger {
  template <typename Lane>
  static uint64_t of(Lane a) {
    const auto value = static_cast<S>(a);
    if (!kSat) return static_cast<uint64_t>(static_cast<D>(value));
    if (kSigned<S> && value < S(0)) {
      if (!kSigned<D>) return 0;
      if (static_cast<int64_t>(value) < static_cast<int64_t>(kLeast<D>)) return static_cast<uint64_t>(kLeast<D>);
      return static_cast<uint64_t>(static_cast<D>(value));
    }
    if (static_cast<uint64_t>(value) > static_cast<uint64_t>(kMost<D>)) return static_cast<uint64_t>(kMost<D>);
    return static_cast<uint64_t>(static_cast<D>(value));
  }
};

template <ptx::Rounding kRounding>
static inline float to_integral(float value) {
  if (kRounding == ptx::Rounding::rzi) return __builtin_truncf(value);
  if (kRounding == ptx::Rounding::rmi) return __builtin_floorf(value);
  if (kRounding == ptx::Rounding::rpi) return __builtin_ceilf(value);
  return __builtin_rintf(value);
}

// f32 to integer: always to the range of D; NaN gives 0, or the top bit for 64 bits.
template <typename D, ptx::Rounding kRounding>
struct FloatToInteger {
  static uint64_t of(uint32_t a) {
    const float value = to_integral<kRounding>(as_float(a));
    constexpr float kBeyond = static_cast<float>(uint64_t{1} << (kBits<D> - 1)) * (kSigned<D> ? 1.0f : 2.0f);
    if (value != value) return sizeof(D) == 8 ? uint64_t{1} << 63 : 0;
    if (value >= kBeyond) return static_cast<uint64_t>(kMost<D>);
    if (kSigned<D> ? value < -kBeyond : value <= 0.0f) return static_cast<uint64_t>(kLeast<D>);
    return static_cast<uint64_t>(static_cast<D>(value));
  }
};
// The common one, in a form that vectorises.
template <ptx::Rounding kRounding>
struct FloatToInteger<int32_t, kRounding> {
  static uint64_t of(uint32_t a) { return static_cast<uint64_t>(int64_t{narrow(a)}); }
  static int32_t narrow(uint32_t a) {
    const float value = to_integral<kRounding>(as_float(a));
    const float held = value < 2147483520.0f ? (value > -2147483648.0f ? value : -2147483648.0f) : 2147483520.0f;
    const auto inside = static_cast<int32_t>(held);
    return value != value ? 0 : value >= 2147483648.0f ? 0x7fffffff : inside;
  }
};

// Integer to f32. `nearest` is right up to one unit; directed roundings step from it.
template <typename S, ptx::Rounding kRounding>
struct IntegerToFloat {
  template <typename Lane>
  static uint32_t of(Lane a) {
    const auto value = static_cast<S>(a);
    const float nearest = static_cast<float>(value);
    if (kRounding == ptx::Rounding::rn || value == S(0)) return as_bits(nearest);
    const auto exact = static_cast<Int128>(value), back = static_cast<Int128>(nearest);
    const bool toward_zero = kRounding == ptx::Rounding::rz, negative = exact < 0;
    const bool down = kRounding == ptx::Rounding::rm || (toward_zero && !negative);
    const uint32_t bits = as_bits(nearest);  // the next float is the next number, away from 0 or towards it
    if (down && back > exact) return negative ? bits + 1 : bits - 1;
    if (!down && back < exact) return negative ? bits - 1 : bits + 1;
    return bits;
  }
};

template <ptx::Rounding kRounding, bool kSat>
struct FloatToFloat {
  static uint32_t of(uint32_t a) {
    const float value = as_float(a);
    return finish<kSat>(kRounding == ptx::Rounding::none ? value : to_integral<kRounding>(value));
  }
};

template <bool kSat, class F>
struct Saturating {
  template <typename Lane>
  static uint32_t of(Lane a) {
    return kSat ? saturated(F::of(a)) : F::of(a);
  }
};

// cvt.pack: b below a, below the low bits of c.
template <typename D>
struct Pack {
  static uint32_t held(uint32_t lane) {
    const auto value = static_cast<int32_t>(lane);
    const int32_t least = kLeast<D>, most = kMost<D>;
    return static_cast<uint32_t>(value < least ? least : value > most ? most : value) & ((1u << kBits<D>) - 1);
  }
  static uint32_t of(uint32_t a, uint32_t b) { return held(a) << kBits<D> | held(b); }
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return c << 2 * kBits<D> | of(a, b); }
};

static Handlers pack_handlers(const ptx::Instruction& in) {
  switch (in.type) {
    case ptx::Type::s8:
      return ternary_pair<Pack<int8_t>, uint32_t>();
    case ptx::Type::u8:
      return ternary_pair<Pack<uint8_t>, uint32_t>();
    case ptx::Type::s16:
      return binary_pair<Pack<int16_t>, uint32_t>();
    default:
      return binary_pair<Pack<uint16_t>, uint32_t>();
  }
}

// The registers' lanes: narrow (32 bits) or wide, for destination and source.
template <class F>
static Handlers convert_pair(bool wide_to, bool wide_from) {
  if (wide_to) return wide_from ? unary_pair<F, uint64_t, uint64_t>() : unary_pair<F, uint64_t, uint32_t>();
  return wide_from ? unary_pair<F, uint32_t, uint64_t>() : unary_pair<F, uint32_t, uint32_t>();
}

template <class Make>
static Handlers for_convertible(ptx::Type type, Make make) {
  if (type == ptx::Type::u8) return make.template operator()<uint8_t>();
  if (type == ptx::Type::s8) return make.template operator()<int8_t>();
  return for_integer(type, make);
}

template <class Make>
static Handlers for_integral_rounding(ptx::Rounding rounding, Make make) {
  switch (rounding) {
    case ptx::Rounding::rni:
      return make.template operator()<ptx::Rounding::rni>();
    case ptx::Rounding::rzi:
      return make.template operator()<ptx::Rounding::rzi>();
    case ptx::Rounding::rmi:
      return make.template operator()<ptx::Rounding::rmi>();
    case ptx::Rounding::rpi:
      return make.template operator()<ptx::Rounding::rpi>();
    default:
      return {};
  }
}

static Handlers float_to_integer(const ptx::Instruction& in, bool wide_to) {
  return for_convertible(in.type, [&]<typename D>() {
    return for_integral_rounding(in.rounding, [&]<ptx::Rounding kRounding>() {
      using F = FloatToInteger<D, kRounding>;
      return wide_to ? unary_pair<F, uint64_t, uint32_t>() : unary_pair<F, uint32_t, uint32_t>();
    });
  });
}

template <typename S, bool kSat>
static Handlers integer_to_float(ptx::Rounding rounding, bool wide_from) {
  using ptx::Rounding;
  const auto pair = [&]<Rounding kRounding>() {
    using F = Saturating<kSat, IntegerToFloat<S, kRounding>>;
    return wide_from ? unary_pair<F, uint32_t, uint64_t>() : unary_pair<F, uint32_t, uint32_t>();
  };
  switch (rounding) {
    case Rounding::rz:
      return pair.template operator()<Rounding::rz>();
    case Rounding::rm:
      return pair.template operator()<Rounding::rm>();
    case Rounding::rp:
      return pair.template operator()<Rounding::rp>();
    default:
      return pair.template operator()<Rounding::rn>();
  }
}

template <bool kSat>
static Handlers float_to_float(ptx::Rounding rounding) {
  if (rounding == ptx::Rounding::none) {
    return unary_pair<FloatToFloat<ptx::Rounding::none, kSat>, uint32_t, uint32_t>();
  }
  return for_integral_rounding(rounding, []<ptx::Rounding kRounding>() {
    return unary_pair<FloatToFloat<kRounding, kSat>, uint32_t, uint32_t>();
  });
}

// `wide_*`: the register has 64 bits.
static Handlers convert_handlers(const ptx::Instruction& in, bool wide_to, bool wide_from) {
  const bool to_float = in.type == ptx::Type::f32, from_float = in.source_type == ptx::Type::f32;
  if (to_float && from_float)
    return in.saturate ? float_to_float<true>(in.rounding) : float_to_float<false>(in.rounding);
  if (from_float) return float_to_integer(in, wide_to);
  if (to_float) {
    return for_convertible(in.source_type, [&]<typename S>() {
      return in.saturate ? integer_to_float<S, true>(in.rounding, wide_from)
                         : integer_to_float<S, false>(in.rounding, wide_from);
    });
  }
  return for_convertible(in.type, [&]<typename D>() {
    return for_convertible(in.source_type, [&]<typename S>() {
      return in.saturate ? convert_pair<IntegerToInteger<D, S, true>>(wide_to, wide_from)
                         : convert_pair<IntegerToInteger<D, S, false>>(wide_to, wide_from);
    });
  });
}
