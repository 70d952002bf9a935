// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/element_span.hpp>
#include <dtrain/error.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain {

/// Calls action.template operator()<Value>() with the C++ type of elements of this type.
template <class Action>
auto with_element(DataType type, const Action& action) {
    switch (type) {
        case DataType::float32:
            return action.template operator()<float>();
        case DataType::int64:
            return action.template operator()<std::int64_t>();
        case DataType::float64:
            return action.template operator()<double>();
        case DataType::int32:
            return action.template operator()<std::int32_t>();
    }
    throw Error("there is no such type of elements");
}

template <class Action>
auto with_element(ElementType type, const Action& action) {
    switch (type) {
        case ElementType::float32:
            return action.template operator()<float>();
        case ElementType::float64:
            return action.template operator()<double>();
        case ElementType::float16:
            return action.template operator()<float16>();
        case ElementType::bfloat16:
            return action.template operator()<bfloat16>();
        case ElementType::int32:
            return action.template operator()<std::int32_t>();
        case ElementType::int64:
            return action.template operator()<std::int64_t>();
        case ElementType::uint8:
            return action.template operator()<std::uint8_t>();
    }
    throw Error("there is no such type of elements");
}

/// The element type of tensors of this type.
inline ElementType element_type_of(DataType type) {
    return with_element(type, []<class Value>() { return detail::element_type<Value>(); });
}

}  // namespace dtrain
