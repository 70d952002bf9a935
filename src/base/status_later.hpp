// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain {

/// EX_TEMPFAIL of sysexits.h. Exit status of a process that stopped in time and continues when started again:
/// a native job that has written its checkpoint after SIGUSR1 or --time-limit.
inline constexpr int status_later = 75;

}  // namespace dtrain
