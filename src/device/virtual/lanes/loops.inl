// Loops over the lanes of a warp, with and without a mask. Included once for each instruction set, in a namespace of
// its own; uses no inline functions of other headers, which the linker would share between instruction sets.

template <typename T>
static inline T* at(Warp& warp, Place place) {
  return reinterpret_cast<T*>(warp.bases[static_cast<unsigned>(place & 1)] + (place & ~1));
}

static inline float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline uint32_t as_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
// The one NaN that arithmetic gives.
static inline uint32_t canonical(float value) { return value != value ? 0x7fffffffu : as_bits(value); }

#define WARPWRIGHT_EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < kLanes; ++l)

template <bool kFull, typename D>
static inline void put(D* to, int l, uint32_t mask, D value) {
  if constexpr (kFull) {
    to[l] = value;
  } else {
    to[l] = (mask >> l & 1u) != 0 ? value : to[l];
  }
}

// d = F(a), F(a, b), F(a, b, c), F(a, b, c, d), with types of the registers' lanes.
template <class F, typename D, typename A, bool kFull>
static void unary(Warp& warp, const Op& op, uint32_t mask) {
  D* d = at<D>(warp, op.d[0]);
  const A* a = at<A>(warp, op.s[0]);
  WARPWRIGHT_EACH_LANE put<kFull, D>(d, l, mask, static_cast<D>(F::of(a[l])));
}

template <class F, typename D, typename A, typename B, bool kFull>
static void binary(Warp& warp, const Op& op, uint32_t mask) {
  D* d = at<D>(warp, op.d[0]);
  const A* a = at<A>(warp, op.s[0]);
  const B* b = at<B>(warp, op.s[1]);
  WARPWRIGHT_EACH_LANE put<kFull, D>(d, l, mask, static_cast<D>(F::of(a[l], b[l])));
}

template <class F, typename D, typename A, typename B, typename C, bool kFull>
static void ternary(Warp& warp, const Op& op, uint32_t mask) {
  D* d = at<D>(warp, op.d[0]);
  const A* a = at<A>(warp, op.s[0]);
  const B* b = at<B>(warp, op.s[1]);
  const C* c = at<C>(warp, op.s[2]);
  WARPWRIGHT_EACH_LANE put<kFull, D>(d, l, mask, static_cast<D>(F::of(a[l], b[l], c[l])));
}

template <class F, typename D, bool kFull>
static void quaternary(Warp& warp, const Op& op, uint32_t mask) {
  D* d = at<D>(warp, op.d[0]);
  const D* a = at<D>(warp, op.s[0]);
  const D* b = at<D>(warp, op.s[1]);
  const uint32_t* c = at<uint32_t>(warp, op.s[2]);
  const uint32_t* e = at<uint32_t>(warp, op.s[3]);
  WARPWRIGHT_EACH_LANE put<kFull, D>(d, l, mask, F::of(a[l], b[l], c[l], e[l]));
}

template <class F, typename D, typename A>
static Handlers unary_pair() {
  return {&unary<F, D, A, true>, &unary<F, D, A, false>};
}
template <class F, typename D, typename A = D, typename B = A>
static Handlers binary_pair() {
  return {&binary<F, D, A, B, true>, &binary<F, D, A, B, false>};
}
template <class F, typename D, typename A = D, typename B = A, typename C = D>
static Handlers ternary_pair() {
  return {&ternary<F, D, A, B, C, true>, &ternary<F, D, A, B, C, false>};
}

// The type that instruction operands of a PTX type stand for; registers of 8 and 16 bits lie in 32-bit lanes whose
// upper bits mean nothing.
template <typename T>
struct LaneOf {
  using type = uint32_t;
};
template <>
struct LaneOf<uint64_t> {
  using type = uint64_t;
};
template <>
struct LaneOf<int64_t> {
  using type = uint64_t;
};
template <typename T>
using Lane = typename LaneOf<T>::type;

// F<T> on lanes: operands narrowed to T, the result put back.
template <template <typename> class F, typename T>
struct On {
  static Lane<T> of(Lane<T> a) { return static_cast<Lane<T>>(F<T>::of(static_cast<T>(a))); }
  static Lane<T> of(Lane<T> a, Lane<T> b) {
    return static_cast<Lane<T>>(F<T>::of(static_cast<T>(a), static_cast<T>(b)));
  }
  static Lane<T> of(Lane<T> a, Lane<T> b, Lane<T> c) {
    return static_cast<Lane<T>>(F<T>::of(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c)));
  }
};

// Calls make.operator()<T>() with the C++ type of an integer PTX type.
template <class Make>
static Handlers for_integer(ptx::Type type, Make make) {
  switch (type) {
    case ptx::Type::b16:
    case ptx::Type::u16:
      return make.template operator()<uint16_t>();
    case ptx::Type::s16:
      return make.template operator()<int16_t>();
    case ptx::Type::b32:
    case ptx::Type::u32:
      return make.template operator()<uint32_t>();
    case ptx::Type::s32:
      return make.template operator()<int32_t>();
    case ptx::Type::b64:
    case ptx::Type::u64:
      return make.template operator()<uint64_t>();
    case ptx::Type::s64:
      return make.template operator()<int64_t>();
    default:
      return {};
  }
}

template <template <typename> class F>
static Handlers integer_unary(ptx::Type type) {
  return for_integer(type, []<typename T>() { return unary_pair<On<F, T>, Lane<T>, Lane<T>>(); });
}
template <template <typename> class F>
static Handlers integer_binary(ptx::Type type) {
  return for_integer(type, []<typename T>() { return binary_pair<On<F, T>, Lane<T>>(); });
}
template <template <typename> class F>
static Handlers integer_ternary(ptx::Type type) {
  return for_integer(type, []<typename T>() { return ternary_pair<On<F, T>, Lane<T>>(); });
}
