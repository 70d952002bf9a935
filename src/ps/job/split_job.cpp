// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/split_job.hpp"

namespace dtrain::ps {

DistributeTranspiler split(const ParameterServers& settings, const ServerRanks& ranks,
                           const Program& program) {
    DistributeTranspiler transpiler({.slice_var_up = settings.slice,
                                     .split_method = settings.split_method,
                                     .min_block_size = settings.min_block_size,
                                     .geo_sgd_mode = settings.mode == ServerMode::geo,
                                     .geo_sgd_need_push_nums = settings.push_every});
    transpiler.transpile(program, {.trainer_id = ranks.serves() ? 0 : ranks.number(),
                                   .pservers = ranks.pservers(),
                                   .trainers = ranks.trainers(),
                                   .sync_mode = settings.mode == ServerMode::sync,
                                   .click = settings.click});
    return transpiler;
}

ServerJobOptions job_options(const ParameterServers& settings, std::uint64_t seed, int threads) {
    return {.mode = settings.mode,
            .staleness = settings.staleness,
            .most_merged = settings.most_merged,
            .wire = settings.wire,
            .seed = seed,
            .threads = threads,
            .device = settings.device,
            .table_threads = settings.threads.value_or(0),
            .memory = settings.memory,
            .spill = settings.spill,
            .rows = settings.rows,
            .reject_not_finite = settings.reject_not_finite,
            .metrics = settings.metrics};
}

}  // namespace dtrain::ps
