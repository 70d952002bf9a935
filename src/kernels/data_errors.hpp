// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// Error messages of kernels about invalid data; the same on every device.
namespace dtrain::kernels {

/// "label 12 in row 3 of the batch is outside of the 10 classes 0..9"
std::string label_outside(std::int64_t label, std::int64_t row, std::int64_t classes);

/// "id 12 at place 3 of the batch is outside of the table's rows 0..9"
std::string id_outside(std::int64_t id, std::int64_t position, std::int64_t rows);

/// "auc: the score in row 3 of the batch is 1.5, expected a probability"
std::string score_outside(double score, std::int64_t row);

}  // namespace dtrain::kernels
