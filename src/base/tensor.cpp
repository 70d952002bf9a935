// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <limits>

#include <dtrain/tensor.hpp>

namespace dtrain {
namespace {

std::string text_of(std::int64_t number) {
    return std::to_string(number);
}

// The shortest text that reads back as the same number.
std::string text_of(double number) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return {digits.data(), end.ptr};
}

std::string text_of(const std::string& text) {
    return '"' + text + '"';
}

template <class Element>
std::string text_of(const std::vector<Element>& values) {
    std::string text = "[";
    for (const auto value : values) {
        if (text.size() > 1) text += ", ";
        text += text_of(value);
    }
    return text += "]";
}

}  // namespace

std::string to_string(const Shape& shape) {
    return text_of(shape);
}

std::int64_t element_count(const Shape& shape) {
    std::int64_t count = 1;
    for (const auto extent : shape)
        if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<std::int64_t>::max();
    return count;
}

std::string to_string(const Attribute& attribute) {
    return std::visit([](const auto& value) { return text_of(value); }, attribute);
}

}  // namespace dtrain
