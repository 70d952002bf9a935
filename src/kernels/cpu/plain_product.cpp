// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include "kernels/cpu/matrix_product.hpp"
#include "kernels/kernel.hpp"

namespace dtrain::kernels {

void PlainProduct::run() {
    for (std::int64_t i = 0; i < out_.rows; ++i) {
        for (std::int64_t j = 0; j < out_.columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < a_.columns; ++k) sum += a_.at(i, k) * b_.at(k, j);
            out_.at(i, j) = sum;
        }
    }
}

void set_compute_threads(int threads) {
    omp_set_num_threads(threads);
}

}  // namespace dtrain::kernels
