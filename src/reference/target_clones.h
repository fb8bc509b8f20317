// Compiles a function for several x86-64 levels, chosen when the program starts; the results are equal.
//
// WW_TARGET_CLONES: for integers and simple floats. WW_FMA_CLONES: for loops over std::fma, which needs an instruction
// of its own to be fast.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WW_TARGET_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#define WW_FMA_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WW_TARGET_CLONES
#define WW_FMA_CLONES
#endif
