// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/host_communicator.hpp"

#include <fmt/format.h>

#include <dtrain/comm_error.hpp>

#include "comm/api/backend.hpp"

namespace dtrain::parallel {

void check_is_for_host(const Communicator& communicator, std::string_view asker, std::string_view remedy) {
    const auto gpu = comm::backend_of(communicator)->gpu_of_memory();
    if (gpu.empty()) return;
    throw GpuCommunicatorError(
        fmt::format("{} takes a communicator for memory of the host, and was given one for memory of a GPU "
                    "({}): {}",
                    asker, gpu, remedy),
        gpu);
}

}  // namespace dtrain::parallel
