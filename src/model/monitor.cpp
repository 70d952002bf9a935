// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/monitor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::model {

double gain(const std::string& measure, double best, double value) {
    return measure.ends_with("loss") ? best - value : value - best;
}

void check_monitor(const char* callback, const std::string& monitor,
                   const std::vector<std::string>& metric_names) {
    if (std::ranges::find(metric_names, monitor) == metric_names.end())
        throw UsageError(fmt::format("{}: monitor is '{}', but this fit() measures {}", callback, monitor,
                                     join(metric_names, ", ")));
}

}  // namespace dtrain::model
