// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "gpu/operators.hpp"

namespace dtrain::gpu {
namespace {

std::vector<Entry> all_entries() {
    std::vector<Entry> all;
    for (const auto& entries :
         {activation_kernels(), adjustment_kernels(), auc_kernels(), classification_kernels(),
          convolution_kernels(), dropout_kernels(), element_wise_kernels(), embedding_kernels(), fc_kernels(),
          loss_scaling_kernels(), normalisation_kernels(), optimizer_kernels(), pooling_kernels(),
          reduction_kernels(), schedule_kernels(), shape_kernels()})
        std::ranges::copy(entries, std::back_inserter(all));
    std::ranges::sort(all, {}, &Entry::type);
    return all;
}

}  // namespace

Factory find_kernel(std::string_view operator_type) {
    static const auto entries = all_entries();
    const auto at = std::ranges::lower_bound(entries, operator_type, {}, &Entry::type);
    return at == entries.end() || at->type != operator_type ? nullptr : at->make;
}

}  // namespace dtrain::gpu
