// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "storage/block_io.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/stored_checkpoint.hpp"

namespace dtrain::tests {

/// A file of format 3: what the ranks of a job do, one after the other. Returns where values lie in the file.
/// @param max bytes of a piece
inline std::vector<storage::PieceInfo> save_as_ranks(const std::filesystem::path& path,
                                                     const Checkpoint& checkpoint, int ranks,
                                                     std::int64_t max = 100'000) {
    const storage::StoredCheckpoint stored(path, checkpoint);
    const auto& tensors = stored.tensors();
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::byte*> destinations;
    for (const auto& tensor : tensors) memory.emplace_back(static_cast<std::size_t>(tensor.bytes()));
    for (auto& values : memory) destinations.push_back(values.data());
    stored.read(destinations);
    const auto pieces = storage::cut_pieces(tensors, max);
    const auto layout = storage::begin_checkpoint_file(path, checkpoint, tensors, pieces);
    storage::ShardInfo info;
    for (const auto& of_rank : storage::deal_pieces(tensors, pieces, ranks)) {
        std::vector<storage::WriteExtent> extents;
        for (const auto& piece : of_rank) {
            const auto skipped = piece.first_row * tensors[piece.tensor].row_bytes();
            extents.push_back(layout.extent_of(piece, tensors, destinations[piece.tensor] + skipped));
        }
        const auto sums = storage::write_extents(path, extents);
        for (std::size_t i = 0; i < sums.size(); ++i)
            info.pieces.push_back({of_rank[i], extents[i].offset, sums[i]});
    }
    storage::finish_checkpoint_file(path, layout, {checkpoint, tensors, {info}});
    return info.pieces;
}

}  // namespace dtrain::tests
