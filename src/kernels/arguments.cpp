// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {
namespace {

const TensorView* find(const std::vector<SlotTensor>& tensors, std::string_view slot) {
    const auto at = std::ranges::find(tensors, slot, &SlotTensor::slot);
    return at == tensors.end() ? nullptr : &at->tensor;
}

const TensorView& get(const std::vector<SlotTensor>& tensors, std::string_view slot) {
    const auto* tensor = find(tensors, slot);
    if (tensor == nullptr) throw Error("a kernel got no tensor for its slot '" + std::string(slot) + "'");
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
    if (at == attributes.end()) throw Error("a kernel got no attribute '" + std::string(name) + "'");
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

}  // namespace dtrain::kernels
