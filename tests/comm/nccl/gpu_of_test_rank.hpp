// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include <cuda_runtime_api.h>

#include "support/test_world.hpp"

namespace dtrain::tests {

/// GPUs that this process sees.
inline int visible_gpus() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/// The number of the GPU that NCCL is to use for this rank, where there is one. Several ranks on one GPU are
/// for tests alone: each says that it is on a machine of its own (NCCL_HOSTID), and NCCL goes by the loopback
/// network.
inline int gpu_of_test_rank() {
    const int count = visible_gpus();
    if (test_world().node_size() <= count) return test_world().node_rank();
    ::setenv("NCCL_HOSTID", ("dtrain-test-" + std::to_string(test_world().rank())).c_str(), 1);
    ::setenv("NCCL_IB_DISABLE", "1", 0);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    return test_world().node_rank() % count;
}

}  // namespace dtrain::tests
