// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/srun/srun_backend.hpp"

#include <csignal>

#include <fmt/format.h>

#include "base/subprocess.hpp"
#include "launch/backend/srun/slurm_step.hpp"
#include "launch/backend/srun/srun.hpp"
#include "launch/backend/srun/srun_messages.hpp"
#include "launch/backend/srun/srun_probe.hpp"

namespace dtrain::launch {
namespace {

class PreparedSrun final : public PreparedBackend {
  public:
    explicit PreparedSrun(SrunSite site) : site_(site) {}

    std::vector<std::string> command(const BackendCall& call) const override {
        return srun_command(call.plan,
                            {.hostfile = call.hostfile,
                             .worker = call.worker,
                             .step_name = step_name(call.token),
                             .pmix = site_.pmix},
                            call.options);
    }

  private:
    SrunSite site_;
};

}  // namespace

std::optional<std::string> SrunBackend::obstacle(const BackendSite& site) const {
    if (!find_in_path("srun", site.environment))
        return "srun is not in PATH; load Slurm's module, or use --engine mpirun";
    if (!site.allocation || site.scheduler != "slurm")
        return "srun starts ranks on the nodes of an allocation only; start dtrain-launch in sbatch or "
               "salloc, without --ips and --hostfile";
    return std::nullopt;
}

std::unique_ptr<PreparedBackend> SrunBackend::prepare(const BackendSite& site) const {
    return std::make_unique<PreparedSrun>(ask_slurm(site.allocation.value(), site.environment));
}

std::string SrunBackend::hostfile(const Plan& plan) const {
    return srun_hostfile(plan);
}

Environment SrunBackend::inherited(Environment environment) const {
    return srun_environment(std::move(environment));
}

RankControl SrunBackend::control(const std::string& job_id, const std::string& token) const {
    return {
        .by_lines = true,
        .death_signal = 0,
        .at_once = SIGTERM,
        .end_remaining = [step = SlurmStep{.job_id = job_id, .name = step_name(token)}](
                             auto grace, const auto& environment) { end_step(step, grace, environment); }};
}

std::vector<std::string> SrunBackend::command_on_node(const Plan& plan, const std::string& host,
                                                      const std::string& program) const {
    std::vector<std::string> argv{"srun",      "--nodes=1",    "--ntasks=1",     "--nodelist=" + host,
                                  "--overlap", "--overcommit", "--cpu-bind=none"};
    if (plan.gpus_of_node > 0) argv.push_back(fmt::format("--gpus-per-node={}", plan.gpus_of_node));
    argv.insert(argv.end(), {"--export=ALL", "--job-name=dtrain.check", program});
    return argv;
}

std::string SrunBackend::remedy_for_node(const std::string& host) const {
    return fmt::format("ask Slurm: scontrol show node {}", host);
}

BackendDiagnosis SrunBackend::diagnose(const std::string& messages) const {
    return {.lost_node = node_failed_for_srun(messages).value_or(""),
            .died = ranks_named_by_srun(messages),
            .left_mpi = {},
            .not_started = {},
            .cancelled = cancelled_by_slurm(messages)};
}

std::string step_name(const std::string& token) {
    return "dtrain." + token.substr(0, 8);
}

}  // namespace dtrain::launch
