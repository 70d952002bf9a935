// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm_call.hpp>
#include <dtrain/error.hpp>

#include "base/with_element.hpp"

namespace dtrain::parallel {

constexpr bool is_half(comm::ElementType type) {
    return type == comm::ElementType::float16 || type == comm::ElementType::bfloat16;
}

/// Whether gradients can have this type.
constexpr bool is_real(comm::ElementType type) {
    return type == comm::ElementType::float32 || type == comm::ElementType::float64 || is_half(type);
}

/// Calls action.template operator()<Value>() with the C++ type for this real element type.
template <class Action>
auto with_real(comm::ElementType type, const Action& action) {
    return with_element(type, [&]<class Value>() -> decltype(action.template operator()<float>()) {
        if constexpr (is_real(comm::element_type<Value>()))
            return action.template operator()<Value>();
        else
            throw Error("integers have no averages here");
    });
}

}  // namespace dtrain::parallel
