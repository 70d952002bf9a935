// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dtrain::program {

/// A sparse gradient: the gradient of one batch, and the destination of the sum over all batches of all
/// ranks.
struct ExchangedRows {
    std::string gradient;  ///< name of the sum
    std::span<const std::int64_t> made_rows;
    std::span<const float> made;
    std::span<std::int64_t> rows;
    std::span<float> values;
};

}  // namespace dtrain::program
