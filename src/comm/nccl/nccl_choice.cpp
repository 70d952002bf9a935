// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_choice.hpp"

#include <fmt/format.h>

#include "comm/api/rank_gpu.hpp"
#include "comm/nccl/nccl_ids.hpp"

namespace dtrain::comm {

int nccl_device(const std::optional<int>& asked, const Environment& environment, int node_rank, int visible) {
    if (visible < 1) throw NcclError("nccl_communicator: this process sees no GPU");
    const auto checked = [visible](int device, const std::string& who) {
        if (device >= 0 && device < visible) return device;
        throw NcclError(
            fmt::format("nccl_communicator: {} says GPU {}, but this process sees {}", who, device, visible));
    };
    if (asked) return checked(*asked, "NcclOptions::device");
    const auto own = gpu_of_rank(environment, node_rank, visible);
    return checked(own.number, own.said_by);
}

std::string nccl_name(const std::string& asked, const Environment& environment) {
    if (!asked.empty()) return asked;
    const auto job = environment.get_or("DTRAIN_JOB_ID", "");
    return job.empty() ? "world" : job + "/world";
}

int nccl_id_count(int asked, int ranks, const NcclRendezvous& rendezvous) {
    if (asked < 0 || asked > ranks)
        throw NcclError(
            fmt::format("nccl_communicator: {} ids for {} ranks: 0 for one per 256 ranks, or 1 to {}", asked,
                        ranks, ranks));
    if (asked > 1 && !rendezvous.by_several_ids)
        throw NcclError(
            fmt::format("nccl_communicator: {} ids need NCCL 2.23.4, and this dtrain was built with {}: "
                        "NcclOptions::ids must be 0 or 1",
                        asked, rendezvous.version));
    if (!rendezvous.by_several_ids) return 1;
    return asked == 0 ? nccl_ids_for(ranks) : asked;
}

}  // namespace dtrain::comm
