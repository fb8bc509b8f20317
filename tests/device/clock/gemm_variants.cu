// int8 matrix products by dp4a with good and bad habits: C[512][512] = A[512][256] B[512][256]^T, both K-contiguous.
// gemm_variants.ptx: nvcc 13.0.88, nvcc -ptx -arch=sm_75 --fmad=false; registers and spills by ptxas -arch=sm_87 -v.
constexpr int kN = 512, kK4 = 64, kStep = 8;

// A thread computes TM×TN outputs, a CTA of 16×16 threads a tile of 16 TM × 16 TN. PAD words behind each row of shared
// memory: with 4 the transposing stores meet no bank twice, with 0 they meet each eight times.
template <int TM, int TN, int PAD>
__device__ void tiled(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c) {
  constexpr int kTileM = 16 * TM, kTileN = 16 * TN;
  __shared__ __align__(16) int sa[kStep][kTileM + PAD];
  __shared__ __align__(16) int sb[kStep][kTileN + PAD];
  const int t = threadIdx.x, tx = t & 15, ty = t >> 4, k_lane = t & 7;
  int sum[TM][TN] = {};
#pragma unroll 1
  for (int k = 0; k < kK4; k += kStep) {
#pragma unroll
    for (int i = 0; i < kTileM; i += 32) {
      const int r = (t >> 3) + i;
      if (kTileM >= 32 || r < kTileM) sa[k_lane][r] = a[(blockIdx.y * kTileM + r) * kK4 + k + k_lane];
    }
#pragma unroll
    for (int i = 0; i < kTileN; i += 32) {
      const int r = (t >> 3) + i;
      if (kTileN >= 32 || r < kTileN) sb[k_lane][r] = b[(blockIdx.x * kTileN + r) * kK4 + k + k_lane];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < kStep; ++kk) {
      int x[TM], y[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) x[i] = sa[kk][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) y[j] = sb[kk][tx * TN + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] = __dp4a(x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j)
      c[(blockIdx.y * kTileM + ty * TM + i) * kN + blockIdx.x * kTileN + tx * TN + j] = sum[i][j];
}

#define TILED(NAME, TM, TN, PAD)                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                   \
      NAME(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c) {               \
    tiled<TM, TN, PAD>(a, b, c);                                                                      \
  }
TILED(tile_1x1, 1, 1, 4)
TILED(tile_2x2, 2, 2, 4)
TILED(tile_4x4, 4, 4, 4)
TILED(tile_8x8, 8, 8, 4)
TILED(tile_4x4_conflicts, 4, 4, 0)

// No tile at all: every operand from global memory.
extern "C" __global__ void __launch_bounds__(256)
    no_tile(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c) {
  const int col = blockIdx.x * 16 + (threadIdx.x & 15), row = blockIdx.y * 16 + (threadIdx.x >> 4);
  int sum = 0;
#pragma unroll 4
  for (int k = 0; k < kK4; ++k) sum = __dp4a(a[row * kK4 + k], b[col * kK4 + k], sum);
  c[row * kN + col] = sum;
}

// The same with four words a load.
extern "C" __global__ void __launch_bounds__(256)
    no_tile_vector(const int4* __restrict__ a, const int4* __restrict__ b, int* __restrict__ c) {
  const int col = blockIdx.x * 16 + (threadIdx.x & 15), row = blockIdx.y * 16 + (threadIdx.x >> 4);
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < kK4 / 4; ++k) {
    const int4 x = a[row * (kK4 / 4) + k], y = b[col * (kK4 / 4) + k];
    sum = __dp4a(x.x, y.x, __dp4a(x.y, y.y, __dp4a(x.z, y.z, __dp4a(x.w, y.w, sum))));
  }
  c[row * kN + col] = sum;
}

// The tile of 8×8 with 64 registers a thread: it spills.
extern "C" __global__ void __launch_bounds__(256, 4)
    tile_8x8_spills(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c) {
  tiled<8, 8, 4>(a, b, c);
}
