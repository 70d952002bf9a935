// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/gpu.hpp"

namespace dtrain::tests {

/// A tensor of an operator, and what it holds before.
struct CaseTensor {
    std::string slot;
    DataType type;
    Shape shape;
    std::vector<double> values = {};  ///< none: of an output, all bits set

    std::size_t size() const { return static_cast<std::size_t>(element_count(shape)); }
};

/// An operator with data. The constructor's functions add tensors with values that are a function of the
/// operator and the order of the calls.
struct OperatorCase {
    explicit OperatorCase(std::string name, DataType numbers = DataType::float32)
        : type(std::move(name)),
          real(numbers),
          random(static_cast<unsigned>(std::hash<std::string>()(type))) {}

    /// Real numbers between two others.
    OperatorCase& in(const std::string& slot, const Shape& shape, double least = -2, double most = 2);
    /// int64, or int32, from `least` to `most`.
    OperatorCase& whole(const std::string& slot, const Shape& shape, std::int64_t least, std::int64_t most,
                        DataType integers = DataType::int64);
    OperatorCase& exactly(const std::string& slot, DataType type, const Shape& shape,
                          std::vector<double> values);
    /// The last input's values are float16 already, if these are.
    OperatorCase& rounded(ComputeType numbers);
    OperatorCase& out(const std::string& slot, const Shape& shape);
    OperatorCase& out(const std::string& slot, DataType type, const Shape& shape);
    /// The last input is an output, too: in the same memory.
    OperatorCase& updated();
    OperatorCase& set(const std::string& attribute, Attribute value);

    std::string description() const;

    std::string type;
    DataType real;
    std::vector<CaseTensor> inputs = {};
    std::vector<CaseTensor> outputs = {};
    std::vector<std::size_t> updated_inputs = {};  ///< indices in `inputs`
    Attributes attributes = {};
    ComputeType products = ComputeType::float32;
    std::mt19937 random;
    double tolerance_factor = 1;  ///< for results that carry errors of many operations
};

/// With products of float16, which CPUs do not multiply, the CPU's are those of factors that are rounded
/// before. Runs the CPU's kernel twice, the GPU's once as it is and once out of a graph; compares all
/// that they make. Also that an operator that updates nothing makes the same bits twice.
void expect_as_on_cpu(kernels::Gpu& gpu, const OperatorCase& operator_case);

/// The message of the error, or "nothing".
std::string error_on_cpu(const OperatorCase& operator_case);

using OperatorCases = std::vector<OperatorCase>;

OperatorCases element_cases(DataType real);
OperatorCases row_cases(DataType real);
OperatorCases layer_cases(DataType real);
OperatorCases image_cases(DataType real);
OperatorCases table_cases(DataType real);
OperatorCases update_cases(DataType real);
OperatorCases loss_scaling_cases();
OperatorCases schedule_cases();
OperatorCases auc_cases(DataType real);

}  // namespace dtrain::tests
