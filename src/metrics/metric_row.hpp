// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::metrics {

/// "train_loss" and its value.
struct Measured {
    std::string name;
    double value = 0;
    friend bool operator==(const Measured&, const Measured&) = default;
};

/// The parts of a name: "train_loss" is "loss" of "train", "test_auc" is "auc" of "test"; "loss" has no part.
struct MeasureName {
    std::string_view part;  ///< "train", "test", "eval" or ""
    std::string_view what;
};
MeasureName parted(std::string_view name);

/// What was measured at one point of a training.
struct MetricRow {
    std::string event;       ///< "step": within an epoch; "epoch": after an epoch
    double time = 0;         ///< seconds since 1970
    double seconds = 0;      ///< since the training of this run began
    std::int64_t epoch = 0;  ///< current or completed epoch, from 1 on
    std::int64_t step = 0;   ///< completed since the very first one, including runs before a --resume
    std::vector<Measured> values = {};
    friend bool operator==(const MetricRow&, const MetricRow&) = default;

    /// Nothing if it was not measured.
    std::optional<double> value(std::string_view name) const;
};

/// A line of JSON, including the line end: time, seconds, event, epoch, step, then the values by name. A
/// value that is not finite is null.
std::string json_line(const MetricRow& row);

/// Default number of steps between two rows: there are about 20 rows within an epoch.
std::int64_t steps_between_rows(std::int64_t steps_of_an_epoch);

/// Seconds since 1970.
double time_now();

}  // namespace dtrain::metrics
