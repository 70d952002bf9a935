// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::report {

/// "train_loss" and its value.
struct Measured {
    std::string name;
    double value = 0;
    friend bool operator==(const Measured&, const Measured&) = default;
};

/// "train_loss" is "loss" of "train", "test_auc" is "auc" of "test"; "loss" is of no part.
struct MeasureName {
    std::string_view part;  ///< "train", "test", "eval" or ""
    std::string_view what;
};
MeasureName parted(std::string_view name);

/// What was measured at one moment of a training.
struct MetricRow {
    std::string event;       ///< "step": within an epoch; "epoch": after one
    double time = 0;         ///< seconds since 1970
    double seconds = 0;      ///< since this run began to train
    std::int64_t epoch = 0;  ///< from 1 on: that in progress, or that is complete
    std::int64_t step = 0;   ///< done, from the very first one on, also those of runs before a --resume
    std::vector<Measured> values = {};
    friend bool operator==(const MetricRow&, const MetricRow&) = default;

    /// Nothing when it was not measured.
    std::optional<double> value(std::string_view name) const;
};

/// A line of JSON, with its end: time, seconds, event, epoch, step, then the values by name. A value that is
/// no finite number is null.
std::string json_line(const MetricRow& row);

/// Of an epoch, where nobody says it: that there are about 20 rows within it.
std::int64_t steps_between_rows(std::int64_t steps_of_an_epoch);

/// Seconds since 1970.
double time_now();

}  // namespace dtrain::report
