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
          normalisation_kernels(), optimizer_kernels(), pooling_kernels(), reduction_kernels(),
          schedule_kernels(), shape_kernels()})
        std::ranges::copy(entries, std::back_inserter(all));
    std::ranges::sort(all, {}, &Entry::type);
    return all;
}

const Entry* find(std::string_view type) {
    static const auto entries = all_entries();
    const auto at = std::ranges::lower_bound(entries, type, {}, &Entry::type);
    return at == entries.end() || at->type != type ? nullptr : &*at;
}

const TensorView* find(const std::vector<SlotTensor>& tensors, std::string_view slot) {
    const auto at = std::ranges::find(tensors, slot, &SlotTensor::slot);
    return at == tensors.end() ? nullptr : &at->tensor;
}

const TensorView& get(const std::vector<SlotTensor>& tensors, std::string_view slot) {
    const auto* tensor = find(tensors, slot);
    if (tensor == nullptr) throw Error(fmt::format("a kernel got no tensor for its slot '{}'", slot));
    return *tensor;
}

std::vector<TensorView> all_of(const std::vector<SlotTensor>& tensors, std::string_view slot) {
    std::vector<TensorView> found;
    for (const auto& tensor : tensors)
        if (tensor.slot == slot) found.push_back(tensor.tensor);
    return found;
}

template <class Value>
const Value& get(const Attributes& attributes, std::string_view name) {
    const auto at = attributes.find(name);
    if (at == attributes.end()) throw Error(fmt::format("a kernel got no attribute '{}'", name));
    return std::get<Value>(at->second);
}

}  // namespace

bool KernelArguments::has_input(std::string_view slot) const {
    return find(inputs, slot) != nullptr;
}

const TensorView& KernelArguments::input(std::string_view slot) const {
    return get(inputs, slot);
}

const TensorView& KernelArguments::output(std::string_view slot) const {
    return get(outputs, slot);
}

std::vector<TensorView> KernelArguments::inputs_of(std::string_view slot) const {
    return all_of(inputs, slot);
}

std::vector<TensorView> KernelArguments::outputs_of(std::string_view slot) const {
    return all_of(outputs, slot);
}

DataType KernelArguments::real_type() const {
    for (const auto* tensors : {&outputs, &inputs})
        for (const auto& [slot, tensor] : *tensors)
            if (is_real(tensor.type)) return tensor.type;
    return DataType::float32;
}

double KernelArguments::number(std::string_view attribute) const {
    return get<double>(attributes, attribute);
}

std::int64_t KernelArguments::whole(std::string_view attribute) const {
    return get<std::int64_t>(attributes, attribute);
}

std::string KernelArguments::text(std::string_view attribute) const {
    return get<std::string>(attributes, attribute);
}

std::vector<std::int64_t> KernelArguments::wholes(std::string_view attribute) const {
    return get<std::vector<std::int64_t>>(attributes, attribute);
}

std::vector<double> KernelArguments::numbers(std::string_view attribute) const {
    return get<std::vector<double>>(attributes, attribute);
}

bool has_cpu_kernel(std::string_view operator_type) {
    return find(operator_type) != nullptr;
}

std::unique_ptr<Kernel> make_cpu_kernel(std::string_view operator_type, const KernelArguments& arguments) {
    const auto* entry = find(operator_type);
    if (entry == nullptr)
        throw Error(fmt::format("there is no CPU kernel for the operator '{}'", operator_type));
    return entry->make(arguments);
}

}  // namespace dtrain::kernels
