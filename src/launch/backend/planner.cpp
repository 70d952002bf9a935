// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/planner.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/ports.hpp"
#include "base/trace_mpi_library.hpp"
#include "launch/backend/registry.hpp"
#include "launch/options/worker_options.hpp"
#include "launch/plan/log_folder.hpp"
#include "launch/plan/network.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/plan/program.hpp"
#include "scheduler/registry.hpp"

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

topology::Machine usable_machine() {
    auto machine = topology::discover();
    if (!machine.is_this_system) return machine;
    const auto usable = machine.allowed & CpuSet::of_this_thread();
    return usable.empty() ? machine : topology::restricted(machine, usable);
}

}  // namespace

Planner::Planner(Options options, const Environment& environment, bool names_nodes_later)
    : environment_(environment), options_(std::move(options)) {
    if (!names_nodes_later) ask_schedulers();
    const BackendSite site{.environment = environment_,
                           .allocation = allocation_,
                           .scheduler = scheduler_ != nullptr ? scheduler_->name() : ""};
    backend_ = names_nodes_later ? &backend_named("mpirun") : &choose_backend(options_.engine, site);
    prepared_ = backend_->prepare(site);
    if (!backend_->uses_schedulers_daemons() && scheduler_ != nullptr && allocation_->nodes.size() > 1)
        remote_shell_ = scheduler_->remote_shell(environment_, read_file);
    options_.log_dir = expanded_log_dir(options_, environment_, std::to_string(::getpid()));
    find_program();
    hostfile_ = hostfile_of(options_);
    machine_ = usable_machine();
    prepared_->finish();
    refuse_missing_wrapper(options_, environment_);
    if (options_.trace_mpi) trace_mpi_library(environment_);  // throws if there is none
    if (options_.network_interface) check_network_interface(*options_.network_interface, interfaces());
}

void Planner::find_program() {
    if (options_.check && options_.script.empty()) return;
    try {
        program_ = program_of(options_, environment_);
    } catch (const UsageError& error) {
        no_program_ = error;
    }
}

/// A scheduler's allocation provides the nodes unless an option names them.
void Planner::ask_schedulers() {
    std::string job;
    for (const auto* each : scheduler::schedulers()) {
        allocation_ = each->allocation(environment_, read_file);
        if (!allocation_) {
            if (job.empty() && each->own_task(environment_)) job = each->job_id(environment_);
            continue;
        }
        scheduler_ = each;
        break;
    }
    if (allocation_ && !uses_allocation(options_, environment_, *allocation_)) allocation_.reset();
    if (allocation_)
        job = allocation_->job_id;
    else
        scheduler_ = nullptr;
    if (!job.empty() && options_.job_id == Options().job_id) options_.job_id = job;
    if (const auto warning = lone_launchers_warning(options_, environment_)) log_warning("{}", *warning);
    if (scheduler_ == nullptr) return;
    for (const auto& warning : scheduler_->warnings(environment_)) log_warning("{}", warning);
}

RankControl Planner::control(const std::string& token) const {
    return backend_->control(allocation_ ? allocation_->job_id : "", token);
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
         .engine = std::string(backend_->name()),
         .by_schedulers_daemons = backend_->uses_schedulers_daemons(),
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
