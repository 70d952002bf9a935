// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/start_command.hpp"

#include <unistd.h>

#include "launch/carried.hpp"
#include "launch/mpirun.hpp"
#include "launch/program.hpp"
#include "launch/srun.hpp"

namespace dtrain::launch {
namespace {

Environment variables_of_workers(const Plan& plan, const Options& options, Engine engine,
                                 const StartInfo& start) {
    const bool as_root = ::geteuid() == 0;
    auto out = engine == Engine::mpirun ? worker_environment(plan, options, start.token, as_root)
                                        : srun_worker_environment(plan, options, start.token, as_root);
    if (start.heartbeats) out.set("DTRAIN_HEARTBEAT", std::to_string(start.heartbeats->count()));
    if (start.gloo_folder) out.set("DTRAIN_GLOO_FS_PATH", *start.gloo_folder);
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
    auto added = variables_of_workers(plan, options, planner.engine(), start);
    // The inherited run id belongs to another job, if this one is started inside one of its ranks.
    if (!start.restarts && environment.has("DTRAIN_RUN_ID")) added.set("DTRAIN_RUN_ID", "");
    const auto hostfile = plan.log_dir + "/hostfile";
    const auto worker = installed("bin/dtrain-worker");
    if (planner.engine() == Engine::srun)
        return {.argv = srun_command(plan,
                                     {.hostfile = hostfile,
                                      .worker = worker,
                                      .step_name = step_name(start.token),
                                      .pmix = planner.srun_site().pmix},
                                     options),
                .added = std::move(added)};
    auto job = environment;
    job.set_all(added);
    return {.argv = mpirun_command(plan, hostfile,
                                   {.worker = worker, .remote_shell = installed("libexec/dtrain/dtrain-rsh")},
                                   options, carried_names(job, given)),
            .added = std::move(added)};
}

std::string step_name(const std::string& token) {
    return "dtrain." + token.substr(0, 8);
}

}  // namespace dtrain::launch
