// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>
#include <dtrain/nccl.hpp>

/// What a NCCL communicator is made with where the user did not say. Pure.
namespace dtrain::comm {

/// The number of the rank's GPU among the `visible` ones of its process: the one asked for, or of
/// FLAGS_selected_gpus, or the only one, or that of the rank's number on its node.
/// @throws NcclError when there is no such GPU
int nccl_device(const std::optional<int>& asked, const Environment& environment, int node_rank, int visible);

/// "7f3a/world", for NCCL's log.
std::string nccl_name(const std::string& asked, const Environment& environment);

/// How the NCCL that dtrain was built with lets ranks meet.
struct NcclRendezvous {
    bool by_several_ids = true;
    std::string version = {};
};

/// @throws NcclError when `asked` is more than there are ranks, or than NCCL can take, or negative
int nccl_id_count(int asked, int ranks, const NcclRendezvous& rendezvous);

}  // namespace dtrain::comm
