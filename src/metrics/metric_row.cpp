// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_row.hpp"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

namespace dtrain::metrics {

MeasureName parted(std::string_view name) {
    for (const std::string_view part : {"train", "test", "eval"})
        if (name.starts_with(part) && name.substr(part.size()).starts_with('_'))
            return {part, name.substr(part.size() + 1)};
    return {"", name};
}

std::optional<double> MetricRow::value(std::string_view name) const {
    const auto found = std::ranges::find(values, name, &Measured::name);
    return found == values.end() ? std::nullopt : std::optional(found->value);
}

std::string json_line(const MetricRow& row) {
    nlohmann::ordered_json json{{"time", row.time},
                                {"seconds", row.seconds},
                                {"event", row.event},
                                {"epoch", row.epoch},
                                {"step", row.step}};
    for (const auto& [name, value] : row.values) json[name] = value;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::int64_t steps_between_rows(std::int64_t steps_of_an_epoch) {
    constexpr std::int64_t rows_of_an_epoch = 20;
    return std::max<std::int64_t>(1, steps_of_an_epoch / rows_of_an_epoch);
}

double time_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace dtrain::metrics
