// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/start_command.hpp"

#include <unistd.h>

#include "launch/backend/worker_environment.hpp"
#include "launch/options/carried.hpp"
#include "launch/plan/program.hpp"
#include "protocol/rank_contract.hpp"

namespace dtrain::launch {
namespace {

Environment variables_of_workers(const Plan& plan, const Options& options, const Planner& planner,
                                 const StartInfo& start) {
    auto out = worker_environment(plan, options, start.token, ::geteuid() == 0);
    cluster::RankContract contract{.gloo_folder = start.gloo_folder, .heartbeat = start.heartbeats};
    if (planner.prepared().mixes_streams()) contract.shows_by_events = true;
    if (planner.control(start.token).by_lines)
        contract.control = cluster::RankContract::Control::standard_input;
    contract.write(out);
    if (start.run_record) out.set("DTRAIN_RUN_RECORD", *start.run_record);
    if (start.restarts) {
        for (const char* name : {"PADDLE_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"})
            out.set(name, std::to_string(*start.restarts));
        out.set("DTRAIN_RUN_ID", start.run);
    }
    return out;
}

}  // namespace

StartCommand start_command(const Plan& plan, const Options& options, const Planner& planner,
                           const Environment& environment, const Environment& given, const StartInfo& start) {
    auto added = variables_of_workers(plan, options, planner, start);
    // The inherited run id belongs to another job, if this one is started inside one of its ranks.
    if (!start.restarts && environment.has("DTRAIN_RUN_ID")) added.set("DTRAIN_RUN_ID", "");
    auto job = environment;
    job.set_all(added);
    return {.argv = planner.prepared().command({.plan = plan,
                                                .options = options,
                                                .hostfile = plan.log_dir + "/hostfile",
                                                .worker = installed("bin/dtrain-worker"),
                                                .remote_shell = installed("libexec/dtrain/dtrain-rsh"),
                                                .token = start.token,
                                                .carried = carried_names(job, given)}),
            .added = std::move(added)};
}

}  // namespace dtrain::launch
