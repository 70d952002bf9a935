// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <dtrain/half.hpp>

#include "base/with_element.hpp"

namespace dtrain::tests {
namespace {

using kernels::KernelArguments;

std::vector<std::byte> bytes_of(const CaseTensor& tensor) {
    std::vector<std::byte> bytes(tensor.size() * size_of(tensor.type), std::byte{0xFF});
    with_tensor_element(tensor.type, [&]<class Value>() {
        for (std::size_t i = 0; i < tensor.values.size(); ++i) {
            const auto value = static_cast<Value>(tensor.values[i]);
            std::memcpy(&bytes[i * sizeof(Value)], &value, sizeof(Value));
        }
    });
    return bytes;
}

std::vector<double> numbers_of(DataType type, const std::vector<std::byte>& bytes) {
    std::vector<double> numbers;
    with_tensor_element(type, [&]<class Value>() {
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(Value)) {
            Value value{};
            std::memcpy(&value, &bytes[at], sizeof(Value));
            numbers.push_back(static_cast<double>(value));
        }
    });
    return numbers;
}

/// All tensors of a case, somewhere: `address_of(tensor)` gives memory that holds its values.
template <class AddressOf>
KernelArguments arguments_of(const OperatorCase& of, const AddressOf& address_of) {
    KernelArguments arguments;
    arguments.attributes = of.attributes;
    arguments.products = of.products;
    for (const auto& tensor : of.inputs)
        arguments.inputs.push_back({tensor.slot, {address_of(tensor), tensor.shape, tensor.type}});
    for (const auto& tensor : of.outputs)
        arguments.outputs.push_back({tensor.slot, {address_of(tensor), tensor.shape, tensor.type}});
    for (const auto number : of.updated_inputs) arguments.outputs.push_back(arguments.inputs[number]);
    return arguments;
}

/// Biases are no factors.
OperatorCase with_factors_rounded(OperatorCase of) {
    if (of.products != ComputeType::float16) return of;
    of.products = ComputeType::float32;
    for (auto& tensor : of.inputs)
        if (tensor.type == DataType::float32 && tensor.slot != "bias")
            for (auto& value : tensor.values)
                value = static_cast<double>(static_cast<float>(float16(static_cast<float>(value))));
    return of;
}

/// On this process' processor.
class OnCpu {
  public:
    explicit OnCpu(const OperatorCase& given) : OnCpu(with_factors_rounded(given), 0) {}

    OnCpu(const OperatorCase& of, int /*rounded*/)
        : arguments(arguments_of(of,
                                 [&](const CaseTensor& tensor) -> void* {
                                     memory_.push_back(bytes_of(tensor));
                                     return memory_.back().data();
                                 })),
          kernel(kernels::make_cpu_kernel(of.type, arguments)) {}

    std::vector<std::byte> read(std::size_t output) const {
        const auto& tensor = arguments.outputs[output].tensor;
        const auto* data = static_cast<const std::byte*>(tensor.data);
        return {data, data + tensor.bytes()};
    }

  private:
    std::vector<std::vector<std::byte>> memory_;

  public:
    KernelArguments arguments;
    std::unique_ptr<kernels::Kernel> kernel;
};

class OnGpu {
  public:
    OnGpu(kernels::Gpu& gpu, const OperatorCase& of)
        : gpu_(&gpu),
          arguments(arguments_of(of,
                                 [&](const CaseTensor& tensor) -> void* {
                                     const auto bytes = bytes_of(tensor);
                                     memory_.push_back(gpu.allocate(bytes.size()));
                                     gpu.to_gpu(memory_.back().get(), bytes.data(), bytes.size());
                                     gpu.finish();
                                     return memory_.back().get();
                                 })),
          kernel(gpu.make_kernel(of.type, arguments)) {}

    std::vector<std::byte> read(std::size_t output) const {
        const auto& tensor = arguments.outputs[output].tensor;
        std::vector<std::byte> bytes(tensor.bytes());
        gpu_->to_host(bytes.data(), tensor.data, bytes.size());
        gpu_->finish();
        return bytes;
    }

  private:
    kernels::Gpu* gpu_;
    std::vector<kernels::Gpu::Memory> memory_;

  public:
    KernelArguments arguments;
    std::unique_ptr<kernels::Kernel> kernel;
};

/// As far as rounding and the order of sums may take results apart: of a result, and of the largest one of
/// its tensor.
double tolerance(DataType type) {
    return type == DataType::float32 ? 3e-6 : 1e-13;
}

void expect_near(const kernels::SlotTensor& output, const std::vector<std::byte>& on_cpu,
                 const std::vector<std::byte>& on_gpu, double factor) {
    const auto& [slot, tensor] = output;
    const auto expected = numbers_of(tensor.type, on_cpu);
    const auto made = numbers_of(tensor.type, on_gpu);
    double largest = 0;
    for (const double value : expected)
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == made[i] || (std::isnan(expected[i]) && std::isnan(made[i]))) continue;
        const double allowed = is_integer(tensor.type)
                                   ? 0
                                   : factor * tolerance(tensor.type) * (std::fabs(expected[i]) + largest);
        ASSERT_LE(std::fabs(made[i] - expected[i]), allowed)
            << slot << ", element " << i << ": " << made[i] << " in place of " << expected[i];
    }
}

}  // namespace

OperatorCase& OperatorCase::in(const std::string& slot, const Shape& shape, double least, double most) {
    std::uniform_real_distribution<double> uniform(least, most);
    CaseTensor tensor{slot, real, shape};
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.values.push_back(uniform(random));
    inputs.push_back(std::move(tensor));
    return *this;
}

OperatorCase& OperatorCase::whole(const std::string& slot, const Shape& shape, std::int64_t least,
                                  std::int64_t most, DataType integers) {
    std::uniform_int_distribution<std::int64_t> uniform(least, most);
    CaseTensor tensor{slot, integers, shape};
    for (std::size_t i = 0; i < tensor.size(); ++i)
        tensor.values.push_back(static_cast<double>(uniform(random)));
    inputs.push_back(std::move(tensor));
    return *this;
}

OperatorCase& OperatorCase::exactly(const std::string& slot, DataType data_type, const Shape& shape,
                                    std::vector<double> values) {
    inputs.push_back({slot, data_type, shape, std::move(values)});
    return *this;
}

OperatorCase& OperatorCase::out(const std::string& slot, const Shape& shape) {
    return out(slot, real, shape);
}

OperatorCase& OperatorCase::out(const std::string& slot, DataType data_type, const Shape& shape) {
    outputs.push_back({slot, data_type, shape});
    return *this;
}

OperatorCase& OperatorCase::rounded(ComputeType numbers) {
    if (numbers != ComputeType::float16) return *this;
    for (auto& value : inputs.back().values)
        value = static_cast<double>(static_cast<float>(float16(static_cast<float>(value))));
    return *this;
}

OperatorCase& OperatorCase::updated() {
    updated_inputs.push_back(inputs.size() - 1);
    return *this;
}

OperatorCase& OperatorCase::set(const std::string& attribute, Attribute value) {
    attributes[attribute] = std::move(value);
    return *this;
}

std::string OperatorCase::description() const {
    auto text = type + " of " + to_string(real);
    for (const auto& tensor : inputs) text += ", " + tensor.slot + " " + to_string(tensor.shape);
    for (const auto& [name, value] : attributes) text += ", " + name + "=" + to_string(value);
    return text;
}

void expect_as_on_cpu(kernels::Gpu& gpu, const OperatorCase& of) {
    SCOPED_TRACE(of.description());
    OnCpu cpu(of);
    cpu.kernel->run();
    cpu.kernel->run();
    OnGpu on_gpu(gpu, of);
    on_gpu.kernel->run();
    std::vector<std::vector<std::byte>> first;
    for (std::size_t i = 0; i < on_gpu.arguments.outputs.size(); ++i) first.push_back(on_gpu.read(i));
    const auto graph = gpu.captured([&] { on_gpu.kernel->run(); });
    graph->run();
    for (std::size_t i = 0; i < on_gpu.arguments.outputs.size(); ++i) {
        const auto& output = cpu.arguments.outputs[i];
        const auto made = on_gpu.read(i);
        if (of.updated_inputs.empty()) {
            EXPECT_TRUE(made == first[i]) << output.slot << ": other bits";
        }
        ASSERT_NO_FATAL_FAILURE(expect_near(output, cpu.read(i), made, of.tolerance_factor));
    }
}

std::string error_on_cpu(const OperatorCase& of) {
    try {
        OnCpu(of).kernel->run();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace dtrain::tests
