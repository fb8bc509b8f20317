// Operations with more state than operands: lop3, prmt, dp4a, dp2a, carries, packs and predicate logic.

// The result has bit i of the table at each position where the bits of (a, b, c) spell i.
template <bool kFull>
static void lop3(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t* d = at<uint32_t>(warp, op.d[0]);
  const uint32_t* a = at<uint32_t>(warp, op.s[0]);
  const uint32_t* b = at<uint32_t>(warp, op.s[1]);
  const uint32_t* c = at<uint32_t>(warp, op.s[2]);
  uint32_t term[8];
  for (int i = 0; i < 8; ++i) term[i] = 0u - static_cast<uint32_t>(op.table >> i & 1);
  WARPWRIGHT_EACH_LANE {
    const uint32_t x = a[l], y = b[l], z = c[l];
    const uint32_t low = ((term[0] & ~z) | (term[1] & z)) & ~y, low_y = ((term[2] & ~z) | (term[3] & z)) & y;
    const uint32_t high = ((term[4] & ~z) | (term[5] & z)) & ~y, high_y = ((term[6] & ~z) | (term[7] & z)) & y;
    put<kFull, uint32_t>(d, l, mask, ((low | low_y) & ~x) | ((high | high_y) & x));
  }
}

// Which of the 8 source bytes each result byte takes; bit 3 of a selector repeats the sign of the byte instead.
static inline uint32_t permute(ptx::PrmtMode mode, uint32_t a, uint32_t b, uint32_t control) {
  using ptx::PrmtMode;
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t n = control & 3;
    uint32_t selector = control >> (4 * i) & 15;
    if (mode == PrmtMode::f4e) selector = n + i;
    if (mode == PrmtMode::b4e) selector = (n - i) & 7;
    if (mode == PrmtMode::rc8) selector = n;
    if (mode == PrmtMode::ecl) selector = i > n ? i : n;
    if (mode == PrmtMode::ecr) selector = i < n ? i : n;
    if (mode == PrmtMode::rc16) selector = (n & 1) * 2 + (i & 1);
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 0xff;
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}

template <bool kFull>
static void prmt(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t* d = at<uint32_t>(warp, op.d[0]);
  const uint32_t* a = at<uint32_t>(warp, op.s[0]);
  const uint32_t* b = at<uint32_t>(warp, op.s[1]);
  const uint32_t* c = at<uint32_t>(warp, op.s[2]);
  const ptx::PrmtMode mode = op.instruction->prmt_mode;
  WARPWRIGHT_EACH_LANE put<kFull, uint32_t>(d, l, mask, permute(mode, a[l], b[l], c[l]));
}

// Bytes of the even and odd positions as 16-bit numbers, so that pmaddwd sums exact products.
template <bool kSigned>
static inline __m128i even_bytes(__m128i v) {
  return kSigned ? _mm_srai_epi16(_mm_slli_epi16(v, 8), 8) : _mm_and_si128(v, _mm_set1_epi16(0xff));
}
template <bool kSigned>
static inline __m128i odd_bytes(__m128i v) {
  return kSigned ? _mm_srai_epi16(v, 8) : _mm_srli_epi16(v, 8);
}

template <bool kSignedA, bool kSignedB>
static inline __m128i dot(__m128i a, __m128i b, __m128i c) {
  const __m128i even = _mm_madd_epi16(even_bytes<kSignedA>(a), even_bytes<kSignedB>(b));
  const __m128i odd = _mm_madd_epi16(odd_bytes<kSignedA>(a), odd_bytes<kSignedB>(b));
  return _mm_add_epi32(c, _mm_add_epi32(even, odd));
}

#ifdef __AVX2__
template <bool kSigned>
static inline __m256i even_bytes(__m256i v) {
  return kSigned ? _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8) : _mm256_and_si256(v, _mm256_set1_epi16(0xff));
}
template <bool kSigned>
static inline __m256i odd_bytes(__m256i v) {
  return kSigned ? _mm256_srai_epi16(v, 8) : _mm256_srli_epi16(v, 8);
}
template <bool kSignedA, bool kSignedB>
static inline __m256i dot(__m256i a, __m256i b, __m256i c) {
  const __m256i even = _mm256_madd_epi16(even_bytes<kSignedA>(a), even_bytes<kSignedB>(b));
  const __m256i odd = _mm256_madd_epi16(odd_bytes<kSignedA>(a), odd_bytes<kSignedB>(b));
  return _mm256_add_epi32(c, _mm256_add_epi32(even, odd));
}
using DotVector = __m256i;
#else
using DotVector = __m128i;
#endif

template <bool kSignedA, bool kSignedB, bool kFull>
static void dp4a(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t* d = at<uint32_t>(warp, op.d[0]);
  const auto* a = at<const DotVector>(warp, op.s[0]);
  const auto* b = at<const DotVector>(warp, op.s[1]);
  const auto* c = at<const DotVector>(warp, op.s[2]);
  constexpr int kVectors = static_cast<int>(kLanes * 4 / sizeof(DotVector));
  if constexpr (kFull) {
    auto* to = reinterpret_cast<DotVector*>(d);
    for (int i = 0; i < kVectors; ++i) to[i] = dot<kSignedA, kSignedB>(a[i], b[i], c[i]);
  } else {
    alignas(32) DotVector sums[kVectors];
    for (int i = 0; i < kVectors; ++i) sums[i] = dot<kSignedA, kSignedB>(a[i], b[i], c[i]);
    uint32_t values[kLanes];
    __builtin_memcpy(values, sums, sizeof values);
    WARPWRIGHT_EACH_LANE put<false, uint32_t>(d, l, mask, values[l]);
  }
}

template <bool kSignedA, bool kSignedB, bool kHigh, bool kFull>
static void dp2a(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t* d = at<uint32_t>(warp, op.d[0]);
  const uint32_t* a = at<uint32_t>(warp, op.s[0]);
  const uint32_t* b = at<uint32_t>(warp, op.s[1]);
  const uint32_t* c = at<uint32_t>(warp, op.s[2]);
  WARPWRIGHT_EACH_LANE {
    uint32_t sum = c[l];
    for (int i = 0; i < 2; ++i) {
      const auto half = static_cast<uint16_t>(a[l] >> (16 * i));
      const auto byte = static_cast<uint8_t>(b[l] >> (8 * i + (kHigh ? 16 : 0)));
      const int32_t x = kSignedA ? static_cast<int16_t>(half) : half, y = kSignedB ? static_cast<int8_t>(byte) : byte;
      sum += static_cast<uint32_t>(x) * static_cast<uint32_t>(y);
    }
    put<kFull, uint32_t>(d, l, mask, sum);
  }
}

// add.cc, addc, sub.cc, subc, mad.cc, madc: with the condition code of the lane, a bit of warp.carry.
template <typename T>
static void carrying(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Instruction& in = *op.instruction;
  const ptx::Opcode opcode = in.opcode;
  const bool takes = opcode == ptx::Opcode::addc || opcode == ptx::Opcode::subc || opcode == ptx::Opcode::madc;
  const bool subtracts = opcode == ptx::Opcode::sub || opcode == ptx::Opcode::subc;
  const bool multiplies = opcode == ptx::Opcode::mad || opcode == ptx::Opcode::madc;
  T* d = at<T>(warp, op.d[0]);
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1u) == 0) continue;
    T a = at<T>(warp, op.s[0])[l], b = at<T>(warp, op.s[1])[l];
    if (multiplies) {
      const bool is_signed = in.type == ptx::Type::s32 || in.type == ptx::Type::s64;
      using Signed = std::make_signed_t<T>;
      const T high = is_signed ? static_cast<T>(MulHigh<Signed>::of(static_cast<Signed>(a), static_cast<Signed>(b)))
                               : MulHigh<T>::of(a, b);
      a = in.mul_mode == ptx::MulMode::hi ? high : a * b;
      b = at<T>(warp, op.s[2])[l];
    }
    const T carry = takes ? warp.carry >> l & 1u : 0;
    const Wider<T> exact = subtracts ? static_cast<Wider<T>>(a) - b - carry : static_cast<Wider<T>>(a) + b + carry;
    d[l] = static_cast<T>(exact);
    if (in.carry_out) {
      const bool out = static_cast<T>(exact >> kBits<T>) != 0;
      warp.carry = (warp.carry & ~(1u << l)) | static_cast<uint32_t>(out) << l;
    }
  }
}

// mov.b32 d, {low, high} and mov.b64 d, {low, high}.
template <typename D>
static void pack(Warp& warp, const Op& op, uint32_t mask) {
  D* d = at<D>(warp, op.d[0]);
  const uint32_t* low = at<uint32_t>(warp, op.s[0]);
  const uint32_t* high = at<uint32_t>(warp, op.s[1]);
  constexpr int kHalf = 4 * static_cast<int>(sizeof(D));
  constexpr uint32_t kKeep = sizeof(D) == 8 ? 0xffffffffu : 0xffffu;
  WARPWRIGHT_EACH_LANE put<false, D>(d, l, mask, (D{high[l]} & kKeep) << kHalf | (low[l] & kKeep));
}

template <typename S>
static void unpack(Warp& warp, const Op& op, uint32_t mask) {
  const S* from = at<S>(warp, op.s[0]);
  constexpr int kHalf = 4 * static_cast<int>(sizeof(S));
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1u) == 0) continue;
    const S value = from[l];
    at<uint32_t>(warp, op.d[0])[l] = static_cast<uint32_t>(value);
    at<uint32_t>(warp, op.d[1])[l] = static_cast<uint32_t>(value >> kHalf);
  }
}

static void predicate_logic(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t a = predicate_at(warp, op.s[0]);
  uint32_t bits = a;
  switch (op.instruction->opcode) {
    case ptx::Opcode::and_:
      bits = a & predicate_at(warp, op.s[1]);
      break;
    case ptx::Opcode::or_:
      bits = a | predicate_at(warp, op.s[1]);
      break;
    case ptx::Opcode::xor_:
      bits = a ^ predicate_at(warp, op.s[1]);
      break;
    case ptx::Opcode::not_:
      bits = ~a;
      break;
    default:  // mov
      break;
  }
  write_predicate(warp, op.d[0], mask, bits);
}
