// The kernels behind the .ptx files of this folder; folding_counts_test.cpp says how those were made.
extern "C" __global__ void requantize(const int* __restrict__ acc, const float* __restrict__ multiplier,
                                      const int* __restrict__ bias, signed char* __restrict__ y, int channels, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int c = i & (channels - 1);
  float v = __fmul_rn(__int2float_rn(acc[i] + bias[c]), multiplier[c]);
  v = fminf(fmaxf(v, -128.0f), 127.0f);
  y[i] = (signed char)__float2int_rn(v);
}

extern "C" __global__ void dot_naive(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c, int m,
                                     int n, int k4) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < k4; ++i) sum = __dp4a(a[row * k4 + i], b[col * k4 + i], sum);
  c[row * n + col] = sum;
}

// 64×64 tile, 256 threads, 4×4 a thread, K in steps of 32 bytes.
extern "C" __global__ void __launch_bounds__(256) dot_tiled(const int* __restrict__ a, const int* __restrict__ b,
                                                            int* __restrict__ c) {
  constexpr int kN = 256, kK4 = 64;
  __shared__ int sa[8][68], sb[8][68];
  const int t = threadIdx.x, tx = t & 15, ty = t >> 4;
  int sum[4][4] = {};
#pragma unroll 1
  for (int k = 0; k < kK4; k += 8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int r = (t >> 3) + 32 * i;
      sa[t & 7][r] = a[(blockIdx.y * 64 + r) * kK4 + k + (t & 7)];
      sb[t & 7][r] = b[(blockIdx.x * 64 + r) * kK4 + k + (t & 7)];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; ++kk) {
      const int4 va = *reinterpret_cast<const int4*>(&sa[kk][ty * 4]);
      const int4 vb = *reinterpret_cast<const int4*>(&sb[kk][tx * 4]);
      const int x[4] = {va.x, va.y, va.z, va.w}, y[4] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = __dp4a(x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int4 v = {sum[i][0], sum[i][1], sum[i][2], sum[i][3]};
    *reinterpret_cast<int4*>(&c[(blockIdx.y * 64 + ty * 4 + i) * kN + blockIdx.x * 64 + tx * 4]) = v;
  }
}

// Depthwise 3×3 over NHWC with borders, one output a thread, and the requantization.
extern "C" __global__ void depthwise(const signed char* __restrict__ x, const signed char* __restrict__ w,
                                     const float* __restrict__ multiplier, signed char* __restrict__ y, int zero) {
  constexpr int kH = 28, kW = 28, kC = 64;
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= kH * kW * kC) return;
  const int c = i % kC, col = i / kC % kW, row = i / kC / kW;
  int sum = 0;
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = 0; s < 3; ++s) {
      const int h = row + r - 1, v = col + s - 1;
      const bool inside = h >= 0 && h < kH && v >= 0 && v < kW;
      const int value = inside ? x[(h * kW + v) * kC + c] : zero;
      sum += (value - zero) * w[(r * 3 + s) * kC + c];
    }
  const float f = fminf(fmaxf(__fmul_rn(__int2float_rn(sum), multiplier[c]), -128.0f), 127.0f);
  y[i] = (signed char)__float2int_rn(f);
}

// Packs four channels into a word; a division a value.
extern "C" __global__ void quantize_pack(const float4* __restrict__ x, unsigned* __restrict__ y, float scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  const float f[4] = {v.x, v.y, v.z, v.w};
  unsigned word = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float q = fminf(fmaxf(__fdiv_rn(f[j], scale), -128.0f), 127.0f);
    word |= (unsigned(__float2int_rn(q)) & 0xffu) << (8 * j);
  }
  y[i] = word;
}

// A warp sums its lanes, through shuffles, and adds to a total.
extern "C" __global__ void warp_sum(const int* __restrict__ x, int* __restrict__ total, int n) {
  int sum = 0;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(total, sum);
}
