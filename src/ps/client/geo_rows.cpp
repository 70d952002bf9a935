// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// GeoLink: storing and restoring rows in checkpoints.
#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "ps/client/geo_link.hpp"

namespace dtrain::ps {
namespace {

constexpr const char* steps_name = "geo.steps";

std::string ids_name(const std::string& table) {
    return table + ".ids";
}

std::string state_name(const std::string& table) {
    return table + ".state";
}

template <class Values>
const Values& values_of(const Checkpoint& from, const std::string& name) {
    const auto found = from.optimizer.find(name);
    const auto* const values =
        found == from.optimizer.end() ? nullptr : std::get_if<Values>(&found->second.values);
    if (values == nullptr) throw UsageError(fmt::format("it has no {} of a trainer in geo mode", name));
    return *values;
}

}  // namespace

void GeoLink::store_rows(Checkpoint& into) const {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        const auto& rows = tables_[i].rows;
        if (rows.state_width() == 0) continue;
        auto [ids, values] = rows.states();
        const auto count = static_cast<std::int64_t>(ids.size());
        const auto& name = parts_.tables()[i];
        into.optimizer[ids_name(name)] = {{count}, std::move(ids)};
        into.optimizer[state_name(name)] = {{count, static_cast<std::int64_t>(rows.state_width())},
                                            std::move(values)};
        into.optimizer[steps_name] = {{1}, std::vector<std::int64_t>{step_}};
    }
}

void GeoLink::restore_rows(const Checkpoint& from) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        auto& rows = tables_[i].rows;
        if (rows.state_width() == 0) continue;
        const auto& name = parts_.tables()[i];
        rows.restore({values_of<std::vector<std::int64_t>>(from, ids_name(name)),
                      values_of<std::vector<float>>(from, state_name(name))});
        const auto& steps = values_of<std::vector<std::int64_t>>(from, steps_name);
        if (steps.size() != 1)
            throw UsageError(fmt::format("its {} are {} numbers", steps_name, steps.size()));
        step_ = steps[0];
    }
}

}  // namespace dtrain::ps
