// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/error.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain {

/// action.template operator()<Value>() for the C++ type that elements of this type have.
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

}  // namespace dtrain
