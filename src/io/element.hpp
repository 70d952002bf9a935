// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace dtrain::io {

/// What checkpoints hold; little endian in files.
enum class Element { float32, int64, float64, int32 };

/// Bytes of one.
constexpr std::int64_t size_of(Element element) {
    return element == Element::float32 || element == Element::int32 ? 4 : 8;
}

/// "float32".
constexpr std::string_view name_of(Element element) {
    switch (element) {
        case Element::float32:
            return "float32";
        case Element::int64:
            return "int64";
        case Element::float64:
            return "float64";
        case Element::int32:
            return "int32";
    }
    return "";
}

/// Nothing when no element has that name.
constexpr std::optional<Element> element_named(std::string_view name) {
    for (const auto element : {Element::float32, Element::int64, Element::float64, Element::int32})
        if (name == name_of(element)) return element;
    return std::nullopt;
}

template <class Value>
inline constexpr Element element_of = [] {
    static_assert(std::is_same_v<Value, float> || std::is_same_v<Value, double> ||
                      std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, std::int32_t>,
                  "checkpoints hold float, double, std::int64_t and std::int32_t");
    if (std::is_same_v<Value, float>) return Element::float32;
    if (std::is_same_v<Value, double>) return Element::float64;
    return std::is_same_v<Value, std::int64_t> ? Element::int64 : Element::int32;
}();

}  // namespace dtrain::io
