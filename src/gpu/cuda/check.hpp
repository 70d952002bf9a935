// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace dtrain::gpu {

/// @throws Error "the GPU failed in `what`: an illegal memory access was encountered"
void check(cudaError_t result, const char* what);

}  // namespace dtrain::gpu
