// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <mpi.h>

#include "comm/message/message_bytes.hpp"
#include "comm/node/node_map.hpp"
#include "comm/node/shared_segment.hpp"

namespace dtrain::comm {

/// Memory for messages that ranks of a node read in place: each rank has a segment that all of them map,
/// divided into blocks. The receiver of a message is sent its location, and marks the block as free after
/// reading it. Use from one thread.
class SharedMessages {
  public:
    /// Location of a message within a segment.
    struct Location {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
    };

    /// Sharing is not worth while for shorter messages.
    static constexpr std::size_t min_bytes = 4096;
    static constexpr std::size_t max_bytes = std::size_t{1} << 20U;

    /// Collective over `node`. @param map of the ranks that messages are sent to @returns null if there is no
    /// other rank on the node, or no memory for it
    static std::unique_ptr<SharedMessages> open(MPI_Comm node, const NodeMap& map);

    /// @param segments by rank; null for a rank that does not map them @param rank a rank whose segment is
    /// not null
    SharedMessages(int rank, std::vector<std::shared_ptr<SharedSegment>> segments);

    /// @returns none if all blocks of suitable size are in use, and there is no space for another one
    std::optional<MessageBytes> memory(std::size_t bytes);

    /// The location of a message for this rank; none if the rank cannot access it.
    std::optional<Location> location_for(int to, const MessageBytes& content) const;

    /// The message that rank `from` left there, which then belongs to the caller.
    MessageBytes message(int from, const Location& location) const;

    /// Bytes of the segment that have been cut into blocks so far.
    std::size_t bytes() const { return cut_; }

  private:
    struct Block;
    static constexpr std::size_t sizes = 9;  // 4 KiB, 8 KiB ... 1 MiB
    // A message may use a block of any of this many sizes: up to eight times its own.
    static constexpr std::size_t wider = 3;

    std::optional<MessageBytes> free_block(std::size_t size, std::size_t bytes);
    bool cut(std::size_t size);

    std::vector<std::shared_ptr<SharedSegment>> segments_;  // by rank; null: on another node
    std::shared_ptr<SharedSegment> own_;
    std::size_t cut_ = 0;
    std::array<std::vector<Block*>, sizes> blocks_;  // by size
};

}  // namespace dtrain::comm
