// WW_TARGET_CLONES: compiles a function for several x86-64 levels, chosen when the program starts; the results are
// equal.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WW_TARGET_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define WW_TARGET_CLONES
#endif
