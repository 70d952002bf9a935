// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::native {

/// The training ranks of a job.
struct JobRanks {
    std::string text;  ///< for the console
    int first = 0;     ///< rank of the first trainer in the job; parameter servers come before it
};

}  // namespace dtrain::native
