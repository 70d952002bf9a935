// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operators.hpp"
#include "kernels/entry_table.hpp"

namespace dtrain::gpu {

Factory find_kernel(std::string_view operator_type) {
    static const kernels::EntryTable<Entry> table{
        adjustment_kernels(),   auc_kernels(),           classification_kernels(), convolution_kernels(),
        dropout_kernels(),      element_wise_kernels(),  embedding_kernels(),      fc_kernels(),
        loss_scaling_kernels(), normalisation_kernels(), optimizer_kernels(),      pooling_kernels(),
        reduction_kernels(),    schedule_kernels(),      shape_kernels(),          softmax_kernels()};
    const auto* entry = table.find(operator_type);
    return entry == nullptr ? nullptr : entry->make;
}

}  // namespace dtrain::gpu
