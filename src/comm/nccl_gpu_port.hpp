// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/nccl_bootstrap.hpp"
#include "comm/nccl_choice.hpp"
#include "comm/nccl_port.hpp"

namespace dtrain::comm {

struct NcclPortOptions {
    std::string name;
    int device = 0;
    int rank = 0;
    int size = 1;
    void* stream = nullptr;  ///< that computes
};

/// NCCL itself. Makes the stream on the GPU; the communicator is made by join(). @throws NcclError
std::unique_ptr<NcclPort> nccl_gpu_port(const NcclPortOptions& options, std::vector<NcclUniqueId> ids);

NcclMeeting nccl_meeting();

/// GPUs that this process sees. @throws NcclError with CUDA's reason when there are none
int visible_gpus();

}  // namespace dtrain::comm
