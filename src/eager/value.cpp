// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "eager/value.hpp"

namespace dtrain::eager {

BlockPool& pool() {
    static const auto of_process = std::make_shared<BlockPool>();
    return *of_process;
}

Value make_value(const Shape& shape, DataType type) {
    return {pool().take(TensorView{nullptr, shape, type}.bytes()), shape, type};
}

Value make_number(std::int64_t number) {
    auto value = make_value({1}, DataType::int64);
    value.as<std::int64_t>().front() = number;
    return value;
}

}  // namespace dtrain::eager
