// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/metric_row.hpp"

/// What TensorBoard reads: records of TensorFlow (tensorflow/core/lib/io/record_writer.h), each an Event
/// (tensorflow/core/util/event.proto) of protocol buffers. All of it is pure.
namespace dtrain::report {

/// The first record of a file.
std::string version_record(double time);

/// Scalars of one step. @param time seconds since 1970
std::string scalars_record(double time, std::int64_t step, const std::vector<Measured>& scalars);

/// "train/loss" for "train_loss", so that TensorBoard groups by what it was measured on; others as they are.
std::string tag_of(const std::string& name);

/// "events.out.tfevents.1700000000.node7.4711.0": TensorBoard looks for names like this.
std::string event_file_name(double time, const std::string& host, int pid);

}  // namespace dtrain::report
