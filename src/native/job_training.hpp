// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "native/job_file.hpp"
#include "native/job_section.hpp"

namespace dtrain::native {

/// The section [train] of a job file, with [train.schedule], [train.clip] and [train.decay].
/// @throws UsageError as parse_job() does
TrainSettings read_training(const Section& top);

/// The first key of [train] that excludes parameter servers ("virtual_ranks", ...), since servers add the
/// gradients; nothing if there is none.
std::optional<std::string> excludes_servers(const TrainSettings& settings);

}  // namespace dtrain::native
