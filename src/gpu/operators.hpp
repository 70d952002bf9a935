// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device_error.hpp"
#include "gpu/matrix_product.hpp"
#include "gpu/memory.hpp"
#include "gpu/stream.hpp"
#include "kernels/chain_link.hpp"
#include "kernels/kernel.hpp"

/// The operators that each file has kernels for; registry.cpp combines them.
namespace dtrain::gpu {

using kernels::Kernel;
using kernels::KernelArguments;

/// Resources of kernels; must outlive them.
struct KernelContext {
    Stream stream;
    ProductLibrary products;
    DeviceMemory error = allocate(sizeof(DeviceError::Content));
    /// By kernel number: a function that formats the error for a position and a value.
    std::map<unsigned long long, std::function<std::string(long long, long long)>> texts = {};
    unsigned long long kernels = 0;

    /// For a kernel that reports no errors, but checks whether there are any.
    DeviceError any_error() const { return {reinterpret_cast<DeviceError::Content*>(error.get()), 0}; }

    /// For a kernel that reports errors.
    DeviceError error_of(std::function<std::string(long long position, long long value)> text) {
        texts[++kernels] = std::move(text);
        return {reinterpret_cast<DeviceError::Content*>(error.get()), kernels};
    }
};

using Factory = std::unique_ptr<Kernel> (*)(KernelContext&, const KernelArguments&);

struct Entry {
    std::string_view type;
    Factory make;
};
using Entries = std::vector<Entry>;

/// The kernel for the real type of the tensors.
template <Factory of_float, Factory of_double>
std::unique_ptr<Kernel> by_type(KernelContext& context, const KernelArguments& arguments) {
    return arguments.real_type() == DataType::float64 ? of_double(context, arguments)
                                                      : of_float(context, arguments);
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

/// Null if there is none.
Factory find_kernel(std::string_view operator_type);

/// See kernels::Gpu.
std::unique_ptr<Kernel> make_chain_kernel(KernelContext& context,
                                          const std::vector<kernels::ChainLink>& links,
                                          const std::set<const void*>& inner);

}  // namespace dtrain::gpu
