// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

enum class DataType { float32, int64 };

/// "float32", "int64".
std::string to_string(DataType type);

/// Bytes of one element.
std::size_t size_of(DataType type);

/// Extents, outermost first; rows are contiguous (C order).
using Shape = std::vector<std::int64_t>;

/// "[64, 784]".
std::string to_string(const Shape& shape);

/// The product of the extents; 1 for the empty shape.
std::int64_t element_count(const Shape& shape);

template <class Element>
inline constexpr DataType data_type_of = [] {
    static_assert(std::is_same_v<Element, float> || std::is_same_v<Element, std::int64_t>,
                  "tensors hold float or std::int64_t");
    return std::is_same_v<Element, float> ? DataType::float32 : DataType::int64;
}();

/// Memory of somebody else seen as a tensor: contiguous, in C order, aligned to 64 bytes when the library
/// allocated it.
struct TensorView {
    void* data = nullptr;
    Shape shape;
    DataType type = DataType::float32;

    std::size_t size() const { return static_cast<std::size_t>(element_count(shape)); }
    std::size_t bytes() const { return size() * size_of(type); }

    /// All elements in C order.
    /// @throws Error when the tensor's elements have another type.
    template <class Element>
    std::span<Element> as() const {
        if (type != data_type_of<Element>)
            throw Error("a tensor of " + to_string(type) + " was asked for its " +
                        to_string(data_type_of<Element>) + " elements");
        return {static_cast<Element*>(data), size()};
    }
};

/// What an operator is told besides its tensors.
using Attribute = std::variant<std::int64_t, double, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// 3, 0.001, "relu".
std::string to_string(const Attribute& attribute);

}  // namespace dtrain
