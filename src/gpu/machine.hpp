// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::gpu {

/// @throws UsageError when programs cannot compute on any here, with the reason
void check_gpus();

/// Makes it the GPU of this thread. @throws UsageError when there is none of this number, with the reason
void choose_gpu(int number);

/// "GPU 0, NVIDIA H200"
std::string name_of_gpu(int number);

}  // namespace dtrain::gpu
