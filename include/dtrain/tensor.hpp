// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/data_type.hpp>
#include <dtrain/error.hpp>

namespace dtrain {

/// The types of tensors' elements. float64 is intended for checks, not for speed; int64 and int32 are types
/// of labels and ids.
inline constexpr std::array tensor_types{DataType::float32, DataType::int64, DataType::float64,
                                         DataType::int32};

/// Whether tensors can have elements of this type.
constexpr bool is_tensor_type(DataType type) {
    return std::ranges::find(tensor_types, type) != tensor_types.end();
}

/// What a DataTypeError expects of tensors.
inline constexpr auto expected_of_tensors = "float32, int64, float64 or int32";

/// A C++ type of tensors' elements.
template <class T>
concept TensorElement = Reducible<T> && is_tensor_type(data_type_of<T>);

/// Extents, outermost first; rows are contiguous (C order).
using Shape = std::vector<std::int64_t>;

/// "[64, 784]".
std::string to_string(const Shape& shape);

/// The product of the extents, saturated at the maximum of int64; 1 for the empty shape.
std::int64_t element_count(const Shape& shape);

/// A non-owning view of memory as a tensor: contiguous, in C order, aligned to 64 bytes if the library
/// allocated it.
struct TensorView {
    void* data = nullptr;               ///< the first element
    Shape shape = {};                   ///< extents, outermost first
    DataType type = DataType::float32;  ///< of the elements

    /// Number of elements.
    std::size_t size() const { return static_cast<std::size_t>(element_count(shape)); }
    /// Number of bytes.
    std::size_t bytes() const { return size() * size_of(type); }

    /// All elements in C order.
    /// @throws Error if the tensor's elements have another type.
    template <TensorElement Element>
    std::span<Element> as() const {
        if (type != data_type_of<Element>)
            throw Error("a tensor of " + to_string(type) + " was asked for its " +
                        to_string(data_type_of<Element>) + " elements");
        return {static_cast<Element*>(data), size()};
    }
};

/// A parameter of an operator that is not a tensor.
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
/// By name.
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// "3", "0.001", "relu", "[2, 2]", "[0.5, 0.25]".
std::string to_string(const Attribute& attribute);

}  // namespace dtrain
