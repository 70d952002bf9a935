// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ON_DEVICE: for functions that run on the GPU too. ON_GPU: for those that run nowhere else, as what is given
// a Block.
#ifdef __CUDACC__
#define ON_DEVICE __host__ __device__
#define ON_GPU __device__
#else
#define ON_DEVICE
#define ON_GPU
#endif
