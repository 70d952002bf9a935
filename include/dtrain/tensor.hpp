// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain {

/// Types of the elements of tensors.
enum class DataType { float32, int64, float64, int32 };

/// All data types.
inline constexpr std::array data_types{DataType::float32, DataType::int64, DataType::float64,
                                       DataType::int32};

/// "float32", "int64", "float64", "int32".
std::string to_string(DataType type);

/// True for float32 and float64, the types of operators with gradients. float64 is intended for checks, not
/// for speed.
constexpr bool is_real(DataType type) {
    return type == DataType::float32 || type == DataType::float64;
}

/// True for int64 and int32, the types of labels and ids.
constexpr bool is_integer(DataType type) {
    return !is_real(type);
}

/// Bytes of one element.
std::size_t size_of(DataType type);

/// Extents, outermost first; rows are contiguous (C order).
using Shape = std::vector<std::int64_t>;

/// "[64, 784]".
std::string to_string(const Shape& shape);

/// The product of the extents, saturated at the maximum of int64; 1 for the empty shape.
std::int64_t element_count(const Shape& shape);

/// The DataType of a C++ type.
template <class Element>
inline constexpr DataType data_type_of = [] {
    static_assert(std::is_same_v<Element, float> || std::is_same_v<Element, double> ||
                      std::is_same_v<Element, std::int64_t> || std::is_same_v<Element, std::int32_t>,
                  "tensors hold float, double, std::int64_t or std::int32_t");
    if (std::is_same_v<Element, float>) return DataType::float32;
    if (std::is_same_v<Element, double>) return DataType::float64;
    return std::is_same_v<Element, std::int64_t> ? DataType::int64 : DataType::int32;
}();

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
    template <class Element>
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
