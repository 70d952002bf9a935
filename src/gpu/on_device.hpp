// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/functors/on_device.hpp"

// ON_GPU: for functions that run only there, such as those that take a Block.
#ifdef __CUDACC__
#define ON_GPU __device__
#else
#define ON_GPU
#endif
