// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>

#include <dtrain/element_type.hpp>

namespace dtrain {

std::string to_string(ElementType type) {
    constexpr std::array names{"float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"};
    return names.at(static_cast<std::size_t>(type));
}

}  // namespace dtrain
