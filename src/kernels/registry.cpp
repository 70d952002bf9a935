// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

struct Entry {
    std::string_view type;
    Factory make;
};

constexpr std::array entries{
    Entry{"accuracy", make_accuracy},
    Entry{"adam", make_adam},
    Entry{"correct_count", make_correct_count},
    Entry{"fc", make_fc},
    Entry{"fc_grad_input", make_fc_grad_input},
    Entry{"fc_grad_weight", make_fc_grad_weight},
    Entry{"increment", make_increment},
    Entry{"loss_gradient", make_fill},
    Entry{"mean", make_mean},
    Entry{"mean_grad", make_mean_grad},
    Entry{"momentum", make_momentum},
    Entry{"relu", make_relu},
    Entry{"relu_grad", make_relu_grad},
    Entry{"sgd", make_sgd},
    Entry{"sigmoid", make_sigmoid},
    Entry{"sigmoid_grad", make_sigmoid_grad},
    Entry{"softmax_with_cross_entropy", make_softmax_with_cross_entropy},
    Entry{"softmax_with_cross_entropy_grad", make_softmax_with_cross_entropy_grad},
    Entry{"sum", make_sum},
    Entry{"tanh", make_tanh},
    Entry{"tanh_grad", make_tanh_grad},
    Entry{"weighted_sum", make_weighted_sum},
    Entry{"weighted_sum_grad", make_weighted_sum_grad},
};

const Entry* find(std::string_view type) {
    const auto at = std::ranges::find(entries, type, &Entry::type);
    return at == entries.end() ? nullptr : &*at;
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

const Attribute& get(const Attributes& attributes, std::string_view name) {
    const auto at = attributes.find(name);
    if (at == attributes.end()) throw Error(fmt::format("a kernel got no attribute '{}'", name));
    return at->second;
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
    std::vector<TensorView> tensors;
    for (const auto& input : inputs)
        if (input.slot == slot) tensors.push_back(input.tensor);
    return tensors;
}

double KernelArguments::number(std::string_view attribute) const {
    return std::get<double>(get(attributes, attribute));
}

std::string KernelArguments::text(std::string_view attribute) const {
    return std::get<std::string>(get(attributes, attribute));
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
