// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "kernels/operators.hpp"

namespace dtrain::kernels {
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

const std::vector<Entry>& sorted_entries() {
    static const auto entries = all_entries();
    return entries;
}

const Entry* find(std::string_view type) {
    const auto& entries = sorted_entries();
    const auto at = std::ranges::lower_bound(entries, type, {}, &Entry::type);
    return at == entries.end() || at->type != type ? nullptr : &*at;
}

}  // namespace

bool has_cpu_kernel(std::string_view operator_type) {
    return find(operator_type) != nullptr;
}

std::vector<std::string_view> cpu_operators() {
    std::vector<std::string_view> types;
    std::ranges::transform(sorted_entries(), std::back_inserter(types), &Entry::type);
    return types;
}

std::unique_ptr<Kernel> make_cpu_kernel(std::string_view operator_type, const KernelArguments& arguments) {
    const auto* entry = find(operator_type);
    if (entry == nullptr)
        throw Error(fmt::format("there is no CPU kernel for the operator '{}'", operator_type));
    return entry->make(arguments);
}

}  // namespace dtrain::kernels
