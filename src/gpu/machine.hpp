// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::gpu {

/// @throws UsageError with the reason if no GPU of this machine can be used
void check_gpus();

/// Makes it the current GPU of this thread. @throws UsageError with the reason if there is none of this
/// number
void choose_gpu(int number);

/// "GPU 0, NVIDIA H200"
std::string name_of_gpu(int number);

}  // namespace dtrain::gpu
