// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/node_communicator.hpp>

#include "comm/node/peers.hpp"
#include "comm/node/shared_segment.hpp"

namespace dtrain::comm {

/// @throws UsageError if ranks cannot meet in this way: a bad name, rank, size or timeout. Pure.
void check_node_ranks(const NodeRanks& ranks);

/// How the ranks of a node find each other without MPI: a segment of shared memory has the name that they
/// were given. Whoever comes first makes it; each takes the slot of its rank there, and the last one removes
/// the name. It also holds a part for each rank, and says whether the others still live. Not collective at
/// its end.
class NodeRendezvous final : public Peers {
  public:
    /// Collective; waits for all ranks. @param bytes_of_a_rank length of a part
    /// @throws UsageError if the rank has come before, or others name another number of ranks;
    /// VersionMismatch on all ranks; Error if ranks do not come in time or have ended, or there is no memory
    NodeRendezvous(const NodeRanks& ranks, std::size_t bytes_of_a_rank);
    NodeRendezvous(const NodeRendezvous&) = delete;
    NodeRendezvous& operator=(const NodeRendezvous&) = delete;
    /// Tells the others that this rank takes part no longer.
    ~NodeRendezvous() override;

    int rank() const override { return ranks_.rank; }
    int size() const override { return ranks_.size; }

    /// Zeroed at first, at a multiple of 4096.
    std::byte* part(int rank) const;
    std::vector<std::byte*> parts() const;

    /// This rank does nothing any longer, because of another one.
    void note_given_up() const;
    bool has_left(int rank) const;
    /// Why a rank will do nothing any longer; none if it may, or if it has given up because of another one.
    /// Asks the system.
    std::optional<std::string> why_gone(int rank) const;

  private:
    struct Head;
    struct RankSlot;

    Head& head() const;
    RankSlot& slot(int rank) const;
    struct Missing {
        std::vector<MissingRank> ranks;
        bool have_ended = false;  // some of them
    };

    void provide_memory(std::size_t first, std::size_t bytes) const;
    void take_slot();
    void wait_for_all();
    void check_versions() const;
    void exchange(std::span<const std::byte> mine, std::span<std::byte> all) const override;
    template <class IsDone>
    void wait_for(const IsDone& is_done, std::string_view what) const;
    template <class IsDone>
    Missing missing(const IsDone& is_done, std::string_view what) const;

    NodeRanks ranks_;
    std::size_t part_bytes_;
    std::shared_ptr<SharedSegment> segment_;
    mutable std::uint64_t exchanged_ = 0;
};

}  // namespace dtrain::comm
