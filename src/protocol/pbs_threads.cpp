// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/pbs_threads.hpp"

#include "base/text.hpp"

namespace dtrain::cluster {

bool pbs_thread_count_too_high(const Environment& environment, int threads) {
    const auto given = environment.get_or("OMP_NUM_THREADS", "");
    return environment.has("PBS_JOBID") && given == environment.get_or("NCPUS", "") &&
           parse_int(given).value_or(0) > threads;
}

}  // namespace dtrain::cluster
