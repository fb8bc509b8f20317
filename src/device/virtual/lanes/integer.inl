// Integer arithmetic of one lane. T is the type that the instruction names; sums and products wrap.

template <typename T>
struct WiderOf;
template <>
struct WiderOf<int16_t> {
  using type = int32_t;
};
template <>
struct WiderOf<uint16_t> {
  using type = uint32_t;
};
template <>
struct WiderOf<int32_t> {
  using type = int64_t;
};
template <>
struct WiderOf<uint32_t> {
  using type = uint64_t;
};
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
template <>
struct WiderOf<int64_t> {
  using type = Int128;
};
template <>
struct WiderOf<uint64_t> {
  using type = Uint128;
};
template <typename T>
using Wider = typename WiderOf<T>::type;

template <typename T>
inline constexpr bool kSigned = T(-1) < T(0);
template <typename T>
inline constexpr int kBits = 8 * static_cast<int>(sizeof(T));
template <typename T>
inline constexpr T kLeast = kSigned<T> ? static_cast<T>(uint64_t{1} << (kBits<T> - 1)) : T(0);
template <typename T>
inline constexpr T kMost = static_cast<T>(~kLeast<T>);

template <typename T>
struct Add {
  static T of(T a, T b) { return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
};
template <>
struct Add<int32_t> {
  static int32_t of(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
};
template <>
struct Add<uint32_t> {
  static uint32_t of(uint32_t a, uint32_t b) { return a + b; }
};
template <typename T>
struct Sub {
  static T of(T a, T b) { return static_cast<T>(static_cast<Lane<T>>(a) - static_cast<Lane<T>>(b)); }
};
template <typename T>
struct MulLow {
  static T of(T a, T b) { return static_cast<T>(static_cast<Lane<T>>(a) * static_cast<Lane<T>>(b)); }
};
template <typename T>
struct MulHigh {
  static T of(T a, T b) { return static_cast<T>((static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b)) >> kBits<T>); }
};
template <typename T>
struct MadLow {
  static T of(T a, T b, T c) { return Add<T>::of(MulLow<T>::of(a, b), c); }
};
template <typename T>
struct MadHigh {
  static T of(T a, T b, T c) { return Add<T>::of(MulHigh<T>::of(a, b), c); }
};
// What PTX leaves open: a division by zero gives all ones, its remainder the dividend.
template <typename T>
struct Div {
  static T of(T a, T b) {
    if (b == T(0)) return static_cast<T>(~T(0));
    if (kSigned<T> && b == static_cast<T>(-1)) return Sub<T>::of(T(0), a);
    return static_cast<T>(a / b);
  }
};
template <typename T>
struct Rem {
  static T of(T a, T b) {
    if (b == T(0)) return a;
    if (kSigned<T> && b == static_cast<T>(-1)) return T(0);
    return static_cast<T>(a % b);
  }
};
template <typename T>
struct Min {
  static T of(T a, T b) { return a < b ? a : b; }
};
template <typename T>
struct Max {
  static T of(T a, T b) { return a > b ? a : b; }
};
template <typename T>
struct Neg {
  static T of(T a) { return Sub<T>::of(T(0), a); }
};
template <typename T>
struct Abs {
  static T of(T a) { return a < T(0) ? Neg<T>::of(a) : a; }
};
template <typename T>
struct Sad {
  static T of(T a, T b, T c) { return Add<T>::of(a < b ? Sub<T>::of(b, a) : Sub<T>::of(a, b), c); }
};
template <typename T>
struct And {
  static T of(T a, T b) { return static_cast<T>(a & b); }
};
template <typename T>
struct Or {
  static T of(T a, T b) { return static_cast<T>(a | b); }
};
template <typename T>
struct Xor {
  static T of(T a, T b) { return static_cast<T>(a ^ b); }
};
template <typename T>
struct Not {
  static T of(T a) { return static_cast<T>(~a); }
};
template <typename T>
struct LogicalNot {
  static T of(T a) { return a == T(0) ? T(1) : T(0); }
};
template <typename T>
struct Copy {
  static T of(T a) { return a; }
};

struct AddSaturated {
  static uint32_t of(uint32_t a, uint32_t b) {
    const int64_t sum = int64_t{static_cast<int32_t>(a)} + static_cast<int32_t>(b);
    return static_cast<uint32_t>(sum < kLeast<int32_t> ? kLeast<int32_t> : sum > kMost<int32_t> ? kMost<int32_t> : sum);
  }
};
struct SubSaturated {
  static uint32_t of(uint32_t a, uint32_t b) {
    const int64_t sum = int64_t{static_cast<int32_t>(a)} - static_cast<int32_t>(b);
    return static_cast<uint32_t>(sum < kLeast<int32_t> ? kLeast<int32_t> : sum > kMost<int32_t> ? kMost<int32_t> : sum);
  }
};

// Products of double width; the result lane is wider than the operands'.
template <typename T>
struct MulWide {
  static Lane<Wider<T>> of(uint32_t a, uint32_t b) {
    return static_cast<Lane<Wider<T>>>(static_cast<Wider<T>>(static_cast<T>(a)) *
                                       static_cast<Wider<T>>(static_cast<T>(b)));
  }
};
template <typename T>
struct MadWide {
  static Lane<Wider<T>> of(uint32_t a, uint32_t b, Lane<Wider<T>> c) { return MulWide<T>::of(a, b) + c; }
};

// Shifts by 32 bits or more give what is left: nothing, or the sign.
template <typename T>
struct ShiftLeft {
  static Lane<T> of(Lane<T> a, uint32_t by) {
    return by >= static_cast<uint32_t>(kBits<T>) ? 0 : static_cast<Lane<T>>(a << by);
  }
};
template <typename T>
struct ShiftRight {
  static Lane<T> of(Lane<T> a, uint32_t by) {
    const auto value = static_cast<T>(a);
    constexpr uint32_t kMostShift = kBits<T> - 1;
    if (kSigned<T>) return static_cast<Lane<T>>(static_cast<T>(value >> (by > kMostShift ? kMostShift : by)));
    return by > kMostShift ? 0 : static_cast<Lane<T>>(static_cast<T>(value >> by));
  }
};

// Bit counts and fields. Results of the counts are 32 bits wide.
template <typename T>
struct PopCount {
  static uint32_t of(T a) { return static_cast<uint32_t>(__builtin_popcountll(a)); }
};
template <typename T>
struct LeadingZeros {
  static uint32_t of(T a) { return a == 0 ? kBits<T> : static_cast<uint32_t>(__builtin_clzll(a) - (64 - kBits<T>)); }
};
template <typename T>
struct FindBit {
  static uint32_t of(Lane<T> bits) {
    const auto a = static_cast<T>(bits);
    const auto looked_at = static_cast<Lane<T>>(kSigned<T> && a < T(0) ? static_cast<Lane<T>>(~bits) : bits);
    return looked_at == 0 ? 0xffffffffu : static_cast<uint32_t>(63 - __builtin_clzll(looked_at));
  }
};
template <typename T>
struct BitReverse {
  static T of(T a) {
    T out = 0;
    for (int i = 0; i < kBits<T>; ++i) out = static_cast<T>(out << 1 | (a >> i & 1));
    return out;
  }
};
template <typename T>
struct FieldExtract {
  static Lane<T> of(Lane<T> a, uint32_t position, uint32_t length) {
    constexpr uint32_t kTop = kBits<T> - 1;
    const uint32_t pos = position & 0xff, len = length & 0xff;
    if (len == 0) return 0;
    const uint32_t sign_at = pos + len - 1 < kTop ? pos + len - 1 : kTop;
    const bool negative = kSigned<T> && (a >> sign_at & 1) != 0;
    const Lane<T> shifted = pos > kTop ? 0 : a >> pos;
    const uint32_t held = pos > kTop ? 0 : len < kTop + 1 - pos ? len : kTop + 1 - pos;  // bits that exist
    const Lane<T> keep = held > kTop ? ~Lane<T>(0) : (Lane<T>(1) << held) - 1;
    return negative ? shifted | ~keep : shifted & keep;
  }
};
template <typename T>
struct FieldInsert {
  static T of(T field, T into, uint32_t position, uint32_t length) {
    constexpr uint32_t kTop = kBits<T> - 1;
    const uint32_t pos = position & 0xff, len = length & 0xff;
    if (pos > kTop || len == 0) return into;
    const T keep = static_cast<T>((len > kTop ? ~T(0) : (T(1) << len) - 1) << pos);
    return (into & ~keep) | (static_cast<T>(field << pos) & keep);
  }
};

template <bool kWrap>
struct FunnelLeft {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t by) {
    const uint32_t n = kWrap ? by & 31 : by < 32 ? by : 32;
    return static_cast<uint32_t>((((uint64_t{b} << 32) | a) << n) >> 32);
  }
};
template <bool kWrap>
struct FunnelRight {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t by) {
    const uint32_t n = kWrap ? by & 31 : by < 32 ? by : 32;
    return static_cast<uint32_t>(((uint64_t{b} << 32) | a) >> n);
  }
};
