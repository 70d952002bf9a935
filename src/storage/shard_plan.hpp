// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/hdf5_file.hpp"

namespace dtrain::storage {

/// Prefix of the names of a checkpoint's parameter tensors.
inline constexpr std::string_view parameters_group = "/parameters/";
inline constexpr std::string_view optimizer_group = "/optimizer/";

/// A checkpoint's tensor without its values.
struct TensorInfo {
    std::string name;  ///< dataset name: "/parameters/fc_0.weight"
    DataType element = DataType::float32;
    std::vector<std::int64_t> shape;

    std::int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
    std::int64_t row_bytes() const;
    std::int64_t bytes() const { return rows() * row_bytes(); }
    friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

/// Rows of a tensor that are in one shard.
struct Piece {
    std::size_t tensor = 0;
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
};

using ShardPlan = std::vector<std::vector<Piece>>;

/// Distributes tensors over shards by size, in order. Tensors of at least `split_from` bytes are split
/// between rows; each smaller one goes as a whole to the shard that contains its midpoint. Every row with
/// values is in exactly one piece, and a shard has at most one piece of a tensor. Pure.
ShardPlan plan_shards(std::span<const TensorInfo> tensors, int shards, std::int64_t split_from = 1 << 20);

/// Cuts all rows with values into pieces of at most `max` bytes (or one row), in order, without joining
/// tensors. So the pieces of a checkpoint do not depend on the number of ranks. Pure.
std::vector<Piece> cut_pieces(std::span<const TensorInfo> tensors, std::int64_t max = 32 << 20);

/// Distributes consecutive pieces over ranks by size; each piece goes to the rank whose part contains its
/// midpoint. Pure.
ShardPlan deal_pieces(std::span<const TensorInfo> tensors, std::span<const Piece> pieces, int ranks);

/// One shard per rank, but fewer if shards would be smaller than `min` bytes.
int shard_count(std::span<const TensorInfo> tensors, int ranks, std::int64_t min = 16 << 20);

}  // namespace dtrain::storage
