// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/parameter_shapes.hpp"

#include <fmt/format.h>

namespace dtrain::ps {

const ParameterShapes::Table& ParameterShapes::table(std::uint32_t number) const {
    if (number >= tables.size()) throw MessageError(fmt::format("table {} of {}", number, tables.size()));
    return tables[number];
}

}  // namespace dtrain::ps
