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

#include "comm/message_bytes.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_segment.hpp"

namespace dtrain::comm {

/// Memory for messages that ranks of a node read where they were written: each rank has a segment that all of
/// them see, and cuts it into blocks. Who gets a message is told where it lies, and marks its block as free
/// when it has read it. For one thread.
class SharedMessages {
  public:
    /// What of a segment holds a message.
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
    };

    /// Shorter messages are not worth it.
    static constexpr std::size_t min_bytes = 4096;
    static constexpr std::size_t max_bytes = std::size_t{1} << 20U;

    /// Collective over `node`. @param map of the ranks that messages are sent to
    /// @returns null where there is nobody to share with, or no memory for it
    static std::unique_ptr<SharedMessages> open(MPI_Comm node, const NodeMap& map);

    /// @param segments by rank; null: of a rank that does not see them @param rank whose segment is not null
    SharedMessages(int rank, std::vector<std::shared_ptr<SharedSegment>> segments);

    /// @returns none when blocks of this size are all taken, and there is no room for another
    std::optional<MessageBytes> memory(std::size_t bytes);

    /// Where a message lies for this rank; none when that one cannot see it.
    std::optional<Place> place_for(int to, const MessageBytes& content) const;

    /// The message that this rank left there, which belongs to the caller then.
    MessageBytes message(int from, const Place& place) const;

    /// That messages have ever taken here.
    std::size_t bytes() const { return cut_; }

  private:
    struct Block;
    static constexpr std::size_t sizes = 9;  // 4 KiB, 8 KiB ... 1 MiB
    // A message may have a block of one of so many sizes: of up to eight times its own.
    static constexpr std::size_t wider = 3;

    std::optional<MessageBytes> free_block(std::size_t size, std::size_t bytes);
    bool cut(std::size_t size);

    std::vector<std::shared_ptr<SharedSegment>> segments_;  // by rank; null: of another node
    std::shared_ptr<SharedSegment> own_;
    std::size_t cut_ = 0;
    std::array<std::vector<Block*>, sizes> blocks_;  // by size
};

}  // namespace dtrain::comm
