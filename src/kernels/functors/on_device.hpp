// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ON_DEVICE: for functions that also run on the GPU. PER_ELEMENT: for those of them that CPU loops call for
// each element; they are always inlined, so that the loop is vectorised for each instruction set
// (each_set.hpp).
#ifdef __CUDACC__
#define ON_DEVICE __host__ __device__
#define PER_ELEMENT __host__ __device__ __forceinline__
#else
#define ON_DEVICE
#define PER_ELEMENT [[gnu::always_inline]] inline
#endif
