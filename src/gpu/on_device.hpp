// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ON_DEVICE: for functions that also run on the GPU. ON_GPU: for functions that run only there, such as those
// that take a Block.
#ifdef __CUDACC__
#define ON_DEVICE __host__ __device__
#define ON_GPU __device__
#else
#define ON_DEVICE
#define ON_GPU
#endif
