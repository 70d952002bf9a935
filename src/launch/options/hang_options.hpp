// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/options/options.hpp"

/// --hang-timeout and --on-hang with what they mean where they are not given. Pure.
namespace dtrain::launch {

/// "auto" if none is given.
cluster::HangLimit hang_limit_of(const Options& options);

/// A limit that somebody has chosen stops the job; dtrain's own only tells of a hang.
OnHang on_hang_of(const Options& options);

/// Whether the job ends when it hangs.
bool stops_a_job(OnHang what);

/// @throws UsageError if the job is to be restarted, but how often is not said
void refuse_restarts_without_number(const Options& options, bool is_elastic);

}  // namespace dtrain::launch
