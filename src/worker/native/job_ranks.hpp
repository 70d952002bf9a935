// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::native {

/// Who trains a job.
struct JobRanks {
    std::string text;  ///< for the console
    int first = 0;     ///< the first trainer's rank in the job: parameter servers come before it
};

}  // namespace dtrain::native
