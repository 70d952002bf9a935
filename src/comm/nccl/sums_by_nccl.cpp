// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/sums_by_nccl.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

namespace dtrain::comm {

void check_all_or_none_compute_on_gpus(bool computes_on_gpu, const Communicator& ranks) {
    const auto with_gpu = ranks.sum(std::int64_t{computes_on_gpu});
    if (with_gpu == 0) return;
    throw_together<UsageError>(
        ranks, computes_on_gpu ? std::nullopt
                               : std::optional<std::string>(
                                     "nccl adds the gradients of ranks on GPUs, and this one computes on the "
                                     "CPU, unlike others; give all ranks GPUs, or leave nccl out"));
}

Communicator over_nccl(const Communicator& ranks, int gpu, void* stream) {
    try {
        return nccl_communicator(ranks, {.device = gpu, .stream = stream});
    } catch (const NcclUnavailable& error) {
        throw UsageError(
            fmt::format("NCCL cannot add the gradients here: {}; leave nccl out, and MPI adds them, or see "
                        "what dtrain-launch --check says",
                        error.what()));
    }
}

}  // namespace dtrain::comm
