// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/metric_row.hpp"

/// Writes files for TensorBoard: records of TensorFlow (tensorflow/core/lib/io/record_writer.h), each of
/// which is an Event (tensorflow/core/util/event.proto) of protocol buffers. Pure.
namespace dtrain::metrics {

/// The first record of a file.
std::string version_record(double time);

/// The scalars of one step.
/// @param time seconds since 1970
std::string scalars_record(double time, std::int64_t step, const std::vector<Measured>& scalars);

/// "train_loss" -> "train/loss", so that TensorBoard groups by the part of the data; other names are
/// unchanged.
std::string tag_of(const std::string& name);

/// "events.out.tfevents.1700000000.node7.4711.0": the pattern of file names that TensorBoard reads.
std::string event_file_name(double time, const std::string& host, int pid);

}  // namespace dtrain::metrics
