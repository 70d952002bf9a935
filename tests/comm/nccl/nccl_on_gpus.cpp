// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/gpu_of_test_rank.hpp"
#include "comm/nccl/nccl_world.hpp"

namespace dtrain {

const Communicator& nccl_world() {
    static const Communicator world = nccl_communicator(test_world(), {.device = tests::gpu_of_test_rank()});
    return world;
}

std::optional<std::string> why_no_nccl() {
    int count = 0;
    const auto error = cudaGetDeviceCount(&count);
    if (test_world().all(error == cudaSuccess && count > 0)) {
        cudaSetDevice(test_world().node_rank() % count);
        return std::nullopt;
    }
    return std::string("no GPU on some rank; on this one: ") + cudaGetErrorString(error);
}

}  // namespace dtrain
