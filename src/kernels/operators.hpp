// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/kernel.hpp"

/// One function per operator; the table in registry.cpp names them.
namespace dtrain::kernels {

using Factory = std::unique_ptr<Kernel> (*)(const KernelArguments&);

// fc.cpp
std::unique_ptr<Kernel> make_fc(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_fc_grad_weight(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_fc_grad_input(const KernelArguments& arguments);

// element_wise.cpp
std::unique_ptr<Kernel> make_relu(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_relu_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_tanh(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_tanh_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_sigmoid(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_sigmoid_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_sum(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_mean(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_mean_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_fill(const KernelArguments& arguments);

// classification.cpp
std::unique_ptr<Kernel> make_softmax_with_cross_entropy(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_softmax_with_cross_entropy_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_weighted_sum(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_weighted_sum_grad(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_correct_count(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_accuracy(const KernelArguments& arguments);

// optimizers.cpp
std::unique_ptr<Kernel> make_increment(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_sgd(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_momentum(const KernelArguments& arguments);
std::unique_ptr<Kernel> make_adam(const KernelArguments& arguments);

}  // namespace dtrain::kernels
