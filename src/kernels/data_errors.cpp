// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/data_errors.hpp"

#include <fmt/format.h>

namespace dtrain::kernels {

std::string label_outside(std::int64_t label, std::int64_t row, std::int64_t classes) {
    return fmt::format("label {} in row {} of the batch is outside of the {} classes 0..{}", label, row,
                       classes, classes - 1);
}

std::string id_outside(std::int64_t id, std::int64_t position, std::int64_t rows) {
    return fmt::format("id {} at place {} of the batch is outside of the table's rows 0..{}", id, position,
                       rows - 1);
}

std::string score_outside(double score, std::int64_t row) {
    return fmt::format("auc: the score in row {} of the batch is {}, expected a probability", row, score);
}

}  // namespace dtrain::kernels
