// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain {

/// EX_TEMPFAIL of sysexits.h. Who ends with it has stopped in time and goes on when started again later: a
/// native job that has written its checkpoint after SIGUSR1 or --time-limit.
inline constexpr int status_later = 75;

}  // namespace dtrain
