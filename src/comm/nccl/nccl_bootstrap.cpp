// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_bootstrap.hpp"

#include <cstring>
#include <optional>

#include "comm/nccl/nccl_ids.hpp"
#include "comm/nccl/nccl_module.hpp"

namespace dtrain::comm {
namespace {

std::optional<std::string> make_unique_id(NcclUniqueId& id) {
    try {
        id = nccl_module().make_unique_id();
        return std::nullopt;
    } catch (const NcclError& error) {
        return error.what();
    }
}

}  // namespace

NcclUniqueId share_nccl_unique_id(const Communicator& communicator) {
    return share_nccl_unique_ids(communicator, 1).front();
}

std::vector<NcclUniqueId> share_nccl_unique_ids(const Communicator& communicator, int ids) {
    std::vector<NcclUniqueId> all(static_cast<std::size_t>(ids));
    const auto own = nccl_id_made_by(communicator.rank(), communicator.size(), ids);
    throw_together<NcclError>(communicator,
                              own ? make_unique_id(all[static_cast<std::size_t>(*own)]) : std::nullopt);
    if (ids == 1) {
        communicator.broadcast(std::span(all), 0);
        return all;
    }
    // This rank has zeros where other ranks put their ids: one sum distributes all ids.
    std::vector<std::uint8_t> bytes(all.size() * sizeof(NcclUniqueId));
    std::memcpy(bytes.data(), all.data(), bytes.size());
    communicator.allreduce(std::span(bytes));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

}  // namespace dtrain::comm
