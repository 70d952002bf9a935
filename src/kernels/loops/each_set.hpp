// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One function, several bodies: the dynamic loader selects the widest instruction set that the processor has.
// Not with the thread sanitizer: GCC makes the selecting code call the sanitizer before the loader has
// initialised it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define EACH_SET __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define EACH_SET
#endif
