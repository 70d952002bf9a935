// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "kernels/entry_table.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

const EntryTable<Entry>& entries() {
    static const EntryTable<Entry> table{
        adjustment_kernels(),   auc_kernels(),           classification_kernels(), convolution_kernels(),
        dropout_kernels(),      element_wise_kernels(),  embedding_kernels(),      fc_kernels(),
        loss_scaling_kernels(), normalisation_kernels(), optimizer_kernels(),      pooling_kernels(),
        reduction_kernels(),    schedule_kernels(),      shape_kernels(),          softmax_kernels()};
    return table;
}

}  // namespace

bool has_cpu_kernel(std::string_view operator_type) {
    return entries().find(operator_type) != nullptr;
}

std::vector<std::string_view> cpu_operators() {
    std::vector<std::string_view> types;
    std::ranges::transform(entries().sorted(), std::back_inserter(types), &Entry::type);
    return types;
}

std::unique_ptr<Kernel> make_cpu_kernel(std::string_view operator_type, const KernelArguments& arguments) {
    const auto* entry = entries().find(operator_type);
    if (entry == nullptr)
        throw Error(fmt::format("there is no CPU kernel for the operator '{}'", operator_type));
    return entry->make(arguments);
}

}  // namespace dtrain::kernels
