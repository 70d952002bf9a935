// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <functional>
#include <numeric>

#include <dtrain/tensor.hpp>

namespace dtrain {

std::string to_string(DataType type) {
    return type == DataType::float32 ? "float32" : "int64";
}

std::size_t size_of(DataType type) {
    return type == DataType::float32 ? 4 : 8;
}

std::string to_string(const Shape& shape) {
    std::string text = "[";
    for (const auto extent : shape) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text += "]";
}

std::int64_t element_count(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const Attribute& attribute) {
    if (const auto* text = std::get_if<std::string>(&attribute)) return '"' + *text + '"';
    if (const auto* number = std::get_if<std::int64_t>(&attribute)) return std::to_string(*number);
    std::array<char, 32> digits;  // the shortest text that reads back as the same number
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::get<double>(attribute));
    return {digits.data(), end.ptr};
}

}  // namespace dtrain
