// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>
#include <dtrain/nccl.hpp>

/// Defaults of a NCCL communicator's options. Pure.
namespace dtrain::comm {

/// The number of the rank's GPU among the `visible` ones of its process: the requested one, or that of
/// FLAGS_selected_gpus, or the only one, or the one whose number is the rank's local rank. @throws NcclError
/// if there is no such GPU
int nccl_device(const std::optional<int>& asked, const Environment& environment, int node_rank, int visible);

/// "7f3a/world", for NCCL's log.
std::string nccl_name(const std::string& asked, const Environment& environment);

/// How many ids the NCCL that dtrain was built with supports for a rendezvous.
struct NcclRendezvous {
    bool by_several_ids = true;
    std::string version = {};
};

/// @throws NcclError if `asked` is larger than the number of ranks, or than NCCL supports, or negative
int nccl_id_count(int asked, int ranks, const NcclRendezvous& rendezvous);

}  // namespace dtrain::comm
