// mma_64.ptx, mma_128.ptx: a matrix product on tensor cores: cp.async in stages, ldmatrix over swizzled rows,
// int32 out. C[M][N] = A[M][K] * B[N][K]^T. The first lines of the .ptx files say which tiles they are.
constexpr int kRows = TILE_M, kColumns = TILE_N, kDepth = TILE_K, kStages = STAGES;
constexpr int kWarpRows = WARP_M, kWarpColumns = WARP_N;
constexpr int kWarpsAcross = kColumns / kWarpColumns;
constexpr int kThreads = 32 * (kRows / kWarpRows) * kWarpsAcross;
constexpr int kChunks = kDepth / 16;
constexpr int kStageBytes = (kRows + kColumns) * kDepth;
constexpr int kSteps = (SIZE_K + kDepth - 1) / kDepth;

__device__ __forceinline__ unsigned swizzle(unsigned row) {
  return kDepth == 128 ? row % 8 : kDepth == 64 ? row / 2 % 4 : row / 4 % 2;
}
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}
__device__ __forceinline__ void multiply(int (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifdef TURING
#define STEP(s0, s1, x, y) asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" \
      : "+r"(s0), "+r"(s1) : "r"(x), "r"(y))
  STEP(sums[0], sums[1], a[0], b0);
  STEP(sums[2], sums[3], a[1], b0);
  STEP(sums[0], sums[1], a[2], b1);
  STEP(sums[2], sums[3], a[3], b1);
#else
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
__device__ __forceinline__ void copy(unsigned to, const signed char* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

extern "C" __global__ __launch_bounds__(kThreads) void NAME(const signed char* __restrict__ a,
                                                            const signed char* __restrict__ b, int* __restrict__ c) {
  extern __shared__ __align__(128) signed char tile[];
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  constexpr int kColumnTiles = (SIZE_N + kColumns - 1) / kColumns;
  const int row0 = blockIdx.x / kColumnTiles * kRows, column0 = blockIdx.x % kColumnTiles * kColumns;
  constexpr int kRowsAtOnce = kThreads / kChunks;
  const int chunk = thread % kChunks, row = thread / kChunks;
  const signed char* a_from = a + static_cast<long long>(row0 + row) * SIZE_K + chunk * 16;
  const signed char* b_from = b + static_cast<long long>(column0 + row) * SIZE_K + chunk * 16;
  const unsigned to = row * kDepth + (chunk ^ swizzle(row)) * 16;
  const auto fill = [&](int stage) {
    const unsigned at = shared + stage * kStageBytes + to;
#pragma unroll
    for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
      copy(at + i * kRowsAtOnce * kDepth, a_from + i * kRowsAtOnce * SIZE_K, row0 + row + i * kRowsAtOnce < SIZE_M);
    }
#pragma unroll
    for (int i = 0; i < kColumns / kRowsAtOnce; ++i) {
      copy(at + (kRows + i * kRowsAtOnce) * kDepth, b_from + i * kRowsAtOnce * SIZE_K,
           column0 + row + i * kRowsAtOnce < SIZE_N);
    }
    a_from += kDepth;
    b_from += kDepth;
  };
  int sums[kWarpRows / 16][kWarpColumns / 8][4] = {};
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < kSteps) fill(stage);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  const int warp_row = warp / kWarpsAcross * kWarpRows, warp_column = warp % kWarpsAcross * kWarpColumns;
  const unsigned a_row = warp_row + lane % 16, b_row = warp_column + (lane & 7) + 8 * (lane >> 4);
  const unsigned a_at = shared + a_row * kDepth, b_at = shared + (kRows + b_row) * kDepth;
  int stage = 0, next = kStages - 1;
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    if (step + kStages - 1 < kSteps) fill(next);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kDepth / 32; ++k) {
      unsigned fragment_a[kWarpRows / 16][4], fragment_b[kWarpColumns / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i) {
        load_matrices(fragment_a[i], a_at + stage * kStageBytes + i * 16 * kDepth +
                                         (((k * 2 + lane / 16) ^ swizzle(a_row)) * 16));
      }
#pragma unroll
      for (int j = 0; j < kWarpColumns / 16; ++j) {
        load_matrices(fragment_b[j], b_at + stage * kStageBytes + j * 16 * kDepth +
                                         (((k * 2 + (lane >> 3 & 1)) ^ swizzle(b_row)) * 16));
      }
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
        for (int j = 0; j < kWarpColumns / 8; ++j) {
          multiply(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2 * 2], fragment_b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    stage = stage + 1 == kStages ? 0 : stage + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
#pragma unroll
  for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int r = row0 + warp_row + i * 16 + h * 8 + lane / 4, n = column0 + warp_column + j * 8 + lane % 4 * 2;
        if (r < SIZE_M && n < SIZE_N) {
          *reinterpret_cast<int2*>(c + r * SIZE_N + n) = make_int2(sums[i][j][2 * h], sums[i][j][2 * h + 1]);
        }
      }
    }
  }
}
