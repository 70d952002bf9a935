// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/data_type.hpp>

namespace dtrain {
namespace {

static_assert([] {
    for (std::size_t i = 0; i < data_type_table.size(); ++i)
        if (static_cast<std::size_t>(data_type_table[i].type) != i) return false;
    return true;
}());

}  // namespace

std::string to_string(DataType type) {
    return std::string(info_of(type).name);
}

}  // namespace dtrain
