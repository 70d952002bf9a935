// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/nccl.hpp>

#include "base/gpu_software.hpp"
#include "base/host.hpp"
#include "comm/mpi/same_version.hpp"
#include "comm/nccl/nccl_backend.hpp"
#include "comm/nccl/nccl_bootstrap.hpp"
#include "comm/nccl/nccl_choice.hpp"
#include "comm/nccl/nccl_module.hpp"

namespace dtrain {
namespace {

/// NCCL also refuses them, but on each rank separately.
void refuse_different_nccls(const Communicator& ranks, const std::string& own) {
    std::vector<comm::HostVersion> all;
    const auto hosts = ranks.all_gather(host_name());
    const auto versions = ranks.all_gather(own);
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) all.push_back({hosts[rank], versions[rank]});
    if (const auto difference = comm::version_difference(all, "NCCL"))
        throw NcclUnavailable("nccl_communicator: " + *difference);
}

std::optional<std::string> fault_of(const GpuSoftware& software) {
    for (const auto& [is_fault, text, remedy] : issues_of(software))
        if (is_fault) return fmt::format("nccl_communicator: on {}: {}; {}", host_name(), text, remedy);
    return std::nullopt;
}

std::unique_ptr<comm::NcclPort> port_of(const Communicator& ranks, const NcclOptions& options) {
    comm::NcclPortOptions wanted{
        .name = options.name, .rank = ranks.rank(), .size = ranks.size(), .stream = options.stream};
    std::optional<std::string> problem;
    int ids = 1;
    try {
        wanted.device = comm::nccl_device(options.device, Environment::of_this_process(), ranks.node_rank(),
                                          comm::nccl_module().visible_gpus());
    } catch (const NcclError& error) {
        problem = error.what();
    }
    throw_together<NcclUnavailable>(ranks, problem);
    const auto software = comm::nccl_module().versions().software;
    refuse_different_nccls(ranks, software.nccl);
    throw_together<NcclUnavailable>(ranks, fault_of(software));
    try {
        ids = comm::nccl_id_count(options.ids, ranks.size(), comm::nccl_module().rendezvous());
    } catch (const NcclError& error) {
        problem = error.what();
    }
    throw_together<NcclError>(ranks, problem);
    auto shared = comm::share_nccl_unique_ids(ranks, ids);
    std::unique_ptr<comm::NcclPort> port;
    try {
        port = comm::nccl_module().make_port(wanted, std::move(shared));
    } catch (const NcclError& error) {
        problem = error.what();
    }
    throw_together<NcclError>(ranks, problem);
    return port;
}

}  // namespace

Communicator nccl_communicator(const Communicator& over_mpi, const NcclOptions& options) {
    auto named = options;
    named.name = comm::nccl_name(options.name, Environment::of_this_process());
    return Communicator(comm::nccl_backend(over_mpi, named, port_of));
}

}  // namespace dtrain
