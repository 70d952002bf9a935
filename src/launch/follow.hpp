// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/meeting.hpp"
#include "launch/options.hpp"
#include "link/messages.hpp"

namespace dtrain::launch {

/// This machine's part of a job that node 0 drives; returns the job's exit status.
/// @param hello what this machine is and has
int follow_head(const Meeting& meeting, const link::Hello& hello, const Options& options,
                const Environment& environment);

}  // namespace dtrain::launch
