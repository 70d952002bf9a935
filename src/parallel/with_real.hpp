// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/element_type.hpp>
#include <dtrain/error.hpp>

#include "base/with_element.hpp"

namespace dtrain::parallel {

constexpr bool is_half(ElementType type) {
    return type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Whether gradients can have this type.
constexpr bool is_real(ElementType type) {
    return type == ElementType::float32 || type == ElementType::float64 || is_half(type);
}

/// Calls action.template operator()<Value>() with the C++ type for this real element type.
template <class Action>
auto with_real(ElementType type, const Action& action) {
    return with_element(type, [&]<class Value>() -> decltype(action.template operator()<float>()) {
        if constexpr (is_real(detail::element_type<Value>()))
            return action.template operator()<Value>();
        else
            throw Error("integers have no averages here");
    });
}

}  // namespace dtrain::parallel
