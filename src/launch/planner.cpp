// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/planner.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exec_image.hpp"
#include "base/files.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/ports.hpp"
#include "base/subprocess.hpp"
#include "cluster/pbs_allocation.hpp"
#include "cluster/slurm_allocation.hpp"
#include "launch/log_folder.hpp"
#include "launch/mpirun_probe.hpp"
#include "launch/network.hpp"
#include "launch/nodes.hpp"
#include "launch/program.hpp"
#include "launch/worker_options.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;

std::vector<cluster::HostSlots> hostfile_of(const Options& options) {
    if (!options.hostfile) return {};
    const auto text = read_file(*options.hostfile);
    if (!text)
        throw UsageError(fmt::format("--hostfile {} cannot be read: {}", *options.hostfile,
                                     std::generic_category().message(errno)));
    return cluster::parse_hostfile(*text);
}

/// PBS' own remote shell keeps the ranks under its control; ssh is used if a site lacks it.
std::string shell_of_pbs(const Environment& environment) {
    if (const auto found = find_in_path("pbs_tmrsh", environment)) return *found;
    const auto settings = read_file(environment.get_or("PBS_CONF_FILE", "/etc/pbs.conf"));
    const auto in_pbs = fs::path(cluster::place_of_pbs(environment, settings.value_or(""))) / "bin/pbs_tmrsh";
    return ::access(in_pbs.c_str(), X_OK) == 0 ? in_pbs.string() : "";
}

topology::Machine usable_machine() {
    auto machine = topology::discover();
    if (!machine.is_this_system) return machine;
    const auto usable = machine.allowed & CpuSet::of_this_thread();
    return usable.empty() ? machine : topology::restricted(machine, usable);
}

}  // namespace

Planner::Planner(Options& options, const Environment& environment, bool names_nodes_later)
    : environment_(environment) {
    if (!names_nodes_later) ask_batch_system(options);
    std::optional<MpirunProbe> probe;
    if (engine_ == Engine::mpirun) probe.emplace(environment_);
    options.log_dir = expanded_log_dir(options, environment_, std::to_string(::getpid()));
    if (!options.check || !options.script.empty()) program_ = program_of(options, environment_);
    hostfile_ = hostfile_of(options);
    machine_ = usable_machine();
    if (probe) probe->require_open_mpi();
    refuse_missing_wrapper(options, environment_);
    if (options.network_interface) check_network_interface(*options.network_interface, interfaces());
}

/// The allocation of Slurm or PBS provides the nodes unless an option names them.
void Planner::ask_batch_system(Options& options) {
    allocation_ = cluster::slurm_allocation(environment_);
    const bool of_slurm = allocation_.has_value();
    if (!of_slurm) allocation_ = cluster::pbs_allocation(environment_, read_file);
    if (allocation_ && !uses_allocation(options, environment_, *allocation_)) allocation_.reset();
    engine_ = choose_engine(options.engine, of_slurm && allocation_.has_value(),
                            find_in_path("srun", environment_).has_value());
    const auto job = allocation_ ? allocation_->job_id : cluster::slurm_job_of_task(environment_);
    if (job && options.job_id == Options().job_id) options.job_id = *job;
    if (const auto warning = lone_launchers_warning(options, environment_)) log_warning("{}", *warning);
    if (!allocation_) return;
    if (const auto warning = other_components_warning(environment_)) log_warning("{}", *warning);
    if (engine_ == Engine::srun) srun_site_ = ask_slurm(*allocation_, environment_);
    if (!of_slurm && allocation_->nodes.size() > 1) remote_shell_ = shell_of_pbs(environment_);
}

Plan Planner::plan(const Options& options, const std::vector<JoinedNode>& joined, int attempt) const {
    std::vector<HeldPorts> held;  // held until the plan is made, so that no port is handed out twice
    return make_plan(
        {.options = options,
         .environment = environment_,
         .machine = machine_,
         .program = program_,
         .log_dir = fs::absolute(options.log_dir).lexically_normal().string(),
         .working_dir = fs::current_path().string(),
         .hostfile = hostfile_,
         .allocation = allocation_,
         .engine = engine_,
         .remote_shell = remote_shell_,
         .joined = joined,
         .own_addresses = own_names(own_addresses(), hosts_named(options, hostfile_), addresses_of),
         .ports = {
             .any =
                 [&](int count) {
                     held.push_back(HeldPorts::any(count));
                     return held.back().numbers();
                 },
             .exactly = [&](const std::vector<int>& ports) { held.push_back(HeldPorts::exactly(ports)); }},
         .attempt = attempt});
}

Plan Planner::plan_of_this_machine(Options options) const {
    options.master.reset();
    options.rank.reset();
    options.host.reset();
    options.nnodes = Options().nnodes;
    return plan(options);
}

}  // namespace dtrain::launch
