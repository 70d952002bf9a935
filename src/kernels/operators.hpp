// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"

/// The operators that each file has kernels for; registry.cpp combines them.
namespace dtrain::kernels {

using Factory = std::unique_ptr<Kernel> (*)(const KernelArguments&);

struct Entry {
    std::string_view type;
    Factory make;
};
using Entries = std::vector<Entry>;

/// The kernel for the real type of the tensors.
template <Factory of_float, Factory of_double>
std::unique_ptr<Kernel> by_type(const KernelArguments& arguments) {
    return arguments.real_type() == DataType::float64 ? of_double(arguments) : of_float(arguments);
}

Entries adjustment_kernels();
Entries auc_kernels();
Entries classification_kernels();
Entries convolution_kernels();
Entries dropout_kernels();
Entries element_wise_kernels();
Entries embedding_kernels();
Entries fc_kernels();
Entries loss_scaling_kernels();
Entries normalisation_kernels();
Entries optimizer_kernels();
Entries pooling_kernels();
Entries reduction_kernels();
Entries schedule_kernels();
Entries shape_kernels();
Entries softmax_kernels();

}  // namespace dtrain::kernels
