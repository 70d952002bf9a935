// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/data_type.hpp>
#include <dtrain/error.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain {

/// Calls action.template operator()<Value>() with the C++ type of elements of this type.
template <class Action>
auto with_element(DataType type, const Action& action) {
    switch (type) {
        case DataType::float32:
            return action.template operator()<float>();
        case DataType::float64:
            return action.template operator()<double>();
        case DataType::float16:
            return action.template operator()<float16>();
        case DataType::bfloat16:
            return action.template operator()<bfloat16>();
        case DataType::int32:
            return action.template operator()<std::int32_t>();
        case DataType::int64:
            return action.template operator()<std::int64_t>();
        case DataType::uint8:
            return action.template operator()<std::uint8_t>();
        case DataType::int8:
            return action.template operator()<std::int8_t>();
        case DataType::int16:
            return action.template operator()<std::int16_t>();
        case DataType::uint16:
            return action.template operator()<std::uint16_t>();
        case DataType::uint32:
            return action.template operator()<std::uint32_t>();
        case DataType::uint64:
            return action.template operator()<std::uint64_t>();
    }
    throw Error("there is no such type of elements");
}

/// with_element() of a tensor's elements. @throws DataTypeError for other types
template <class Action>
auto with_tensor_element(DataType type, const Action& action) {
    return with_element(type, [&]<class Value>() -> decltype(action.template operator()<float>()) {
        if constexpr (TensorElement<Value>)
            return action.template operator()<Value>();
        else
            throw DataTypeError("tensors", data_type_of<Value>, expected_of_tensors);
    });
}

}  // namespace dtrain
