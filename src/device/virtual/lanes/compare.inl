// setp, set and selp.

template <ptx::Compare kCompare, typename T>
static inline bool holds(T a, T b) {
  using ptx::Compare;
  switch (kCompare) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a < b || a > b;  // for f32 ordered: false with a NaN
    case Compare::lt:
    case Compare::lo:
      return a < b;
    case Compare::le:
    case Compare::ls:
      return a <= b;
    case Compare::gt:
    case Compare::hi:
      return a > b;
    case Compare::ge:
    case Compare::hs:
      return a >= b;
    case Compare::equ:
      return !(a < b || a > b);
    case Compare::neu:
      return a != b;
    case Compare::ltu:
      return !(a >= b);
    case Compare::leu:
      return !(a > b);
    case Compare::gtu:
      return !(a <= b);
    case Compare::geu:
      return !(a < b);
    case Compare::num:
      return a == a && b == b;
    default:
      return a != a || b != b;
  }
}

template <typename T>
static inline T narrowed(Lane<T> bits) {
  if constexpr (std::is_same_v<T, float>) {
    return as_float(bits);
  } else {
    return static_cast<T>(bits);
  }
}

// A bit for each of 32 bytes that are 0 or 255.
static inline uint32_t gather_bits(const uint8_t* flags) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + 16));
  return static_cast<uint32_t>(_mm_movemask_epi8(low)) | static_cast<uint32_t>(_mm_movemask_epi8(high)) << 16;
}

template <ptx::Compare kCompare, typename T>
static inline uint32_t compared(Warp& warp, const Op& op) {
  const Lane<T>* a = at<Lane<T>>(warp, op.s[0]);
  const Lane<T>* b = at<Lane<T>>(warp, op.s[1]);
  alignas(32) uint8_t flags[kLanes];
  WARPWRIGHT_EACH_LANE flags[l] = holds<kCompare, T>(narrowed<T>(a[l]), narrowed<T>(b[l])) ? 255 : 0;
  return gather_bits(flags);
}

static inline uint32_t combined(ptx::BoolOp how, uint32_t bits, uint32_t with) {
  return how == ptx::BoolOp::and_ ? bits & with : how == ptx::BoolOp::or_ ? bits | with : bits ^ with;
}

static inline uint32_t predicate_at(const Warp& warp, Place place) {
  return warp.predicates[place >> 1] ^ (0u - static_cast<uint32_t>(place & 1));
}

static inline void write_predicate(Warp& warp, Place place, uint32_t mask, uint32_t bits) {
  uint32_t& to = warp.predicates[place >> 1];
  to = (to & ~mask) | (bits & mask);
}

template <ptx::Compare kCompare, typename T>
static void set_predicates(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t bits = compared<kCompare, T>(warp, op);
  uint32_t first = bits, second = ~bits;
  if (op.instruction->bool_op != ptx::BoolOp::none) {
    const uint32_t with = predicate_at(warp, op.s[2]);
    first = combined(op.instruction->bool_op, first, with);
    second = combined(op.instruction->bool_op, second, with);
  }
  write_predicate(warp, op.d[0], mask, first);
  if (op.instruction->destinations.size() > 1) write_predicate(warp, op.d[1], mask, second);
}

template <ptx::Compare kCompare, typename T>
static void set_values(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t bits = compared<kCompare, T>(warp, op);
  if (op.instruction->bool_op != ptx::BoolOp::none) {
    bits = combined(op.instruction->bool_op, bits, predicate_at(warp, op.s[2]));
  }
  const uint32_t yes = op.instruction->type == ptx::Type::f32 ? as_bits(1.0f) : 0xffffffffu;
  uint32_t* d = at<uint32_t>(warp, op.d[0]);
  WARPWRIGHT_EACH_LANE put<false, uint32_t>(d, l, mask, (bits >> l & 1u) != 0 ? yes : 0u);
}

template <ptx::Compare kCompare, typename T>
static Handlers comparing(bool to_values) {
  const Handler run = to_values ? &set_values<kCompare, T> : &set_predicates<kCompare, T>;
  return {run, run};
}

template <typename T>
static Handlers integer_comparison(ptx::Compare compare, bool to_values) {
  using ptx::Compare;
  using Unsigned = std::make_unsigned_t<T>;  // lo, ls, hi, hs
  switch (compare) {
    case Compare::eq:
      return comparing<Compare::eq, T>(to_values);
    case Compare::ne:
      return comparing<Compare::ne, T>(to_values);
    case Compare::lt:
      return comparing<Compare::lt, T>(to_values);
    case Compare::le:
      return comparing<Compare::le, T>(to_values);
    case Compare::gt:
      return comparing<Compare::gt, T>(to_values);
    case Compare::ge:
      return comparing<Compare::ge, T>(to_values);
    case Compare::lo:
      return comparing<Compare::lo, Unsigned>(to_values);
    case Compare::ls:
      return comparing<Compare::ls, Unsigned>(to_values);
    case Compare::hi:
      return comparing<Compare::hi, Unsigned>(to_values);
    default:
      return comparing<Compare::hs, Unsigned>(to_values);
  }
}

static Handlers float_comparison(ptx::Compare compare, bool to_values) {
  using ptx::Compare;
  switch (compare) {
    case Compare::eq:
      return comparing<Compare::eq, float>(to_values);
    case Compare::ne:
      return comparing<Compare::ne, float>(to_values);
    case Compare::lt:
      return comparing<Compare::lt, float>(to_values);
    case Compare::le:
      return comparing<Compare::le, float>(to_values);
    case Compare::gt:
      return comparing<Compare::gt, float>(to_values);
    case Compare::ge:
      return comparing<Compare::ge, float>(to_values);
    case Compare::equ:
      return comparing<Compare::equ, float>(to_values);
    case Compare::neu:
      return comparing<Compare::neu, float>(to_values);
    case Compare::ltu:
      return comparing<Compare::ltu, float>(to_values);
    case Compare::leu:
      return comparing<Compare::leu, float>(to_values);
    case Compare::gtu:
      return comparing<Compare::gtu, float>(to_values);
    case Compare::geu:
      return comparing<Compare::geu, float>(to_values);
    case Compare::num:
      return comparing<Compare::num, float>(to_values);
    default:
      return comparing<Compare::nan, float>(to_values);
  }
}

static Handlers compare_handlers(const ptx::Instruction& in) {
  const bool to_values = in.opcode == ptx::Opcode::set;
  const ptx::Type type = to_values ? in.source_type : in.type;
  if (type == ptx::Type::f32) return float_comparison(in.compare, to_values);
  return for_integer(type, [&]<typename T>() { return integer_comparison<T>(in.compare, to_values); });
}

// d = p ? a : b.
template <typename T>
static void select(Warp& warp, const Op& op, uint32_t mask) {
  T* d = at<T>(warp, op.d[0]);
  const T* a = at<T>(warp, op.s[0]);
  const T* b = at<T>(warp, op.s[1]);
  const uint32_t chosen = predicate_at(warp, op.s[2]);
  WARPWRIGHT_EACH_LANE put<false, T>(d, l, mask, (chosen >> l & 1u) != 0 ? a[l] : b[l]);
}
