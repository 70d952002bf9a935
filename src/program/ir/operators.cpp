// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/ir/operators.hpp"

#include <algorithm>
#include <iterator>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

std::vector<Schema> all_schemas() {
    std::vector<Schema> all;
    for (const auto& schemas :
         {adjustment_schemas(), arithmetic_schemas(), communication_schemas(), embedding_schemas(),
          layer_schemas(), loss_schemas(), normalisation_schemas(), image_schemas(), reduction_schemas(),
          schedule_schemas(), server_schemas(), shape_schemas(), training_schemas()})
        std::ranges::copy(schemas, std::back_inserter(all));
    std::ranges::sort(all, {}, &Schema::type);
    return all;
}

const std::vector<Schema>& schemas() {
    static const auto all = all_schemas();
    return all;
}

}  // namespace

const Schema* find_schema(std::string_view type) {
    const auto at = std::ranges::lower_bound(schemas(), type, {}, &Schema::type);
    return at == schemas().end() || at->type != type ? nullptr : &*at;
}

const Traits& traits_of(std::string_view type) {
    static constexpr Traits none;
    const auto* schema = find_schema(type);
    return schema == nullptr ? none : schema->traits;
}

std::vector<std::string> operator_types() {
    std::vector<std::string> types;
    for (const auto& schema : schemas()) types.emplace_back(schema.type);
    return types;
}

}  // namespace dtrain::program
