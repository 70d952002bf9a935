// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/shard_plan.hpp"

#include <algorithm>

namespace dtrain::storage {
namespace {

std::int64_t bytes_of(std::span<const TensorInfo> tensors) {
    std::int64_t bytes = 0;
    for (const auto& tensor : tensors) bytes += tensor.bytes();
    return bytes;
}

/// Offset of shard `shard` among all bytes.
std::int64_t cut(std::int64_t bytes, int shard, int shards) {
    return bytes / shards * shard + bytes % shards * shard / shards;
}

}  // namespace

std::int64_t TensorInfo::row_bytes() const {
    auto bytes = static_cast<std::int64_t>(size_of(element));
    for (std::size_t i = 1; i < shape.size(); ++i) bytes *= shape[i];
    return bytes;
}

ShardPlan plan_shards(std::span<const TensorInfo> tensors, int shards, std::int64_t split_from) {
    ShardPlan plan(static_cast<std::size_t>(shards));
    const auto total = bytes_of(tensors);
    std::int64_t begin = 0;
    int first = 0;  // lower shards end before this tensor
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& tensor = tensors[i];
        const auto bytes = tensor.bytes();
        if (bytes == 0) continue;
        const bool split = bytes >= split_from && tensor.rows() > 1;
        const auto reach = split ? begin : begin + bytes / 2;
        while (first + 1 < shards && cut(total, first + 1, shards) <= reach) ++first;
        std::int64_t row = 0;
        for (int shard = first; row < tensor.rows(); ++shard) {
            const bool last = !split || shard + 1 == shards;
            const auto inside = last ? bytes : std::min(bytes, cut(total, shard + 1, shards) - begin);
            const auto until = (inside + tensor.row_bytes() / 2) / tensor.row_bytes();
            if (until > row) plan[static_cast<std::size_t>(shard)].push_back({i, row, until - row});
            row = std::max(row, until);
        }
        begin += bytes;
    }
    return plan;
}

std::vector<Piece> cut_pieces(std::span<const TensorInfo> tensors, std::int64_t max) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].bytes() == 0) continue;
        const auto rows = std::max<std::int64_t>(1, max / tensors[i].row_bytes());
        for (std::int64_t row = 0; row < tensors[i].rows(); row += rows)
            pieces.push_back({i, row, std::min(rows, tensors[i].rows() - row)});
    }
    return pieces;
}

ShardPlan deal_pieces(std::span<const TensorInfo> tensors, std::span<const Piece> pieces, int ranks) {
    ShardPlan plan(static_cast<std::size_t>(ranks));
    const auto total = bytes_of(tensors);
    std::int64_t begin = 0;
    int rank = 0;
    for (const auto& piece : pieces) {
        const auto bytes = piece.rows * tensors[piece.tensor].row_bytes();
        while (rank + 1 < ranks && cut(total, rank + 1, ranks) <= begin + bytes / 2) ++rank;
        plan[static_cast<std::size_t>(rank)].push_back(piece);
        begin += bytes;
    }
    return plan;
}

int shard_count(std::span<const TensorInfo> tensors, int ranks, std::int64_t min) {
    return static_cast<int>(std::clamp<std::int64_t>(bytes_of(tensors) / min, 1, ranks));
}

}  // namespace dtrain::storage
