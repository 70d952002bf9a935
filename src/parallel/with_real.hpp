// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/data_type.hpp>

#include "base/with_element.hpp"

namespace dtrain::parallel {

inline constexpr auto expected_of_gradients = "float32, float64, float16 or bfloat16";

/// with_element() of gradients, whose elements are real numbers. @throws DataTypeError for integers
template <class Action>
auto with_real(DataType type, const Action& action) {
    return with_element(type, [&]<class Value>() -> decltype(action.template operator()<float>()) {
        if constexpr (is_real(data_type_of<Value>))
            return action.template operator()<Value>();
        else
            throw DataTypeError("gradients", type, expected_of_gradients);
    });
}

}  // namespace dtrain::parallel
