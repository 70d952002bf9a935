// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "storage/checkpoint_index.hpp"

namespace dtrain::storage {

/// {"epoch": 12, ..., "tensors": [{"name": ..., "type": "float32", "shape": [...]}],
///  "shards": [{"bytes": ..., "frame": "HEX", "pieces": [[tensor, first row, rows, offset, "HEX"]]}]}
nlohmann::json as_json(const CheckpointIndex& index);

/// Nothing if the text is not a valid index.
std::optional<CheckpointIndex> index_from_json(std::string_view text);

}  // namespace dtrain::storage
