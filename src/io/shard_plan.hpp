// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/hdf5_file.hpp"

namespace dtrain::io {

/// What the names of a checkpoint's tensors begin with.
inline constexpr std::string_view parameters_group = "/parameters/";
inline constexpr std::string_view optimizer_group = "/optimizer/";

/// A tensor of a checkpoint without its values.
struct TensorInfo {
    std::string name;  ///< as a dataset: "/parameters/fc_0.weight"
    ElementType element = ElementType::float32;
    std::vector<std::int64_t> shape;

    std::int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
    std::int64_t row_bytes() const;
    std::int64_t bytes() const { return rows() * row_bytes(); }
    friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

/// Rows of a tensor that lie in one shard.
struct Piece {
    std::size_t tensor = 0;
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
};

using ShardPlan = std::vector<std::vector<Piece>>;

/// Deals tensors to shards by bytes, in their order. Tensors of at least `split_from` bytes are split between
/// rows; smaller ones go whole to the shard in which their middle falls. Every row with values lies in one
/// piece, and a shard has at most one piece of a tensor. Pure.
ShardPlan plan_shards(std::span<const TensorInfo> tensors, int shards, std::int64_t split_from = 1 << 20);

/// All rows with values in pieces of at most `most` bytes (or one row), in order; tensors are not joined. The
/// pieces of a checkpoint do so not depend on how many ranks write it. Pure.
std::vector<Piece> cut_pieces(std::span<const TensorInfo> tensors, std::int64_t max = 32 << 20);

/// Deals neighbouring pieces to ranks by bytes, each to the rank in whose part its middle falls. Pure.
ShardPlan deal_pieces(std::span<const TensorInfo> tensors, std::span<const Piece> pieces, int ranks);

/// As many shards as there are ranks, but none smaller than `least` bytes.
int shard_count(std::span<const TensorInfo> tensors, int ranks, std::int64_t min = 16 << 20);

}  // namespace dtrain::io
