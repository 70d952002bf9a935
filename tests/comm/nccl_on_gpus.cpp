// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Several ranks on one GPU are for tests alone: each says that it is on a machine of its own (NCCL_HOSTID),
// and NCCL goes by the loopback network.
#include <cstdlib>

#include "comm/nccl_world.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

int gpus() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

NcclOptions options() {
    const int count = gpus();
    if (test_world().node_size() <= count) return {.device = test_world().node_rank()};
    ::setenv("NCCL_HOSTID", ("dtrain-test-" + std::to_string(test_world().rank())).c_str(), 1);
    ::setenv("NCCL_IB_DISABLE", "1", 0);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    return {.device = test_world().node_rank() % count};
}

}  // namespace

const Communicator& nccl_world() {
    static const Communicator world = nccl_communicator(test_world(), options());
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
