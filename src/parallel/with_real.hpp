// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm_call.hpp>
#include <dtrain/error.hpp>

namespace dtrain::parallel {

constexpr bool is_half(comm::ElementType type) {
    return type == comm::ElementType::float16 || type == comm::ElementType::bfloat16;
}

/// Of what gradients can be.
constexpr bool is_real(comm::ElementType type) {
    return type == comm::ElementType::float32 || type == comm::ElementType::float64 || is_half(type);
}

/// action.template operator()<Value>() for the C++ type that elements of this real type have.
template <class Action>
auto with_real(comm::ElementType type, const Action& action) {
    switch (type) {
        case comm::ElementType::float32:
            return action.template operator()<float>();
        case comm::ElementType::float64:
            return action.template operator()<double>();
        case comm::ElementType::float16:
            return action.template operator()<float16>();
        case comm::ElementType::bfloat16:
            return action.template operator()<bfloat16>();
        default:
            throw Error("integers have no averages here");
    }
}

}  // namespace dtrain::parallel
