// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/run_rank.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

#include "base/exec_image.hpp"
#include "base/exit_status.hpp"
#include "base/host.hpp"
#include "base/leftovers.hpp"
#include "base/log_files.hpp"
#include "base/mpi_start.hpp"
#include "base/ports.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "base/trace_mpi_library.hpp"
#include "base/unanswered.hpp"
#include "base/wall_clock.hpp"
#include "identity/endpoint_list.hpp"
#include "identity/slurm_binding.hpp"
#include "protocol/assignment.hpp"
#include "protocol/event.hpp"
#include "protocol/pbs_threads.hpp"
#include "protocol/pmix_store.hpp"
#include "protocol/program_environment.hpp"
#include "protocol/rank_contract.hpp"
#include "protocol/torch_job.hpp"
#include "scheduler/registry.hpp"
#include "worker/agreed_port.hpp"
#include "worker/binding.hpp"
#include "worker/commands.hpp"
#include "worker/event_writer.hpp"
#include "worker/gloo_folder.hpp"
#include "worker/hang_watch.hpp"
#include "worker/network.hpp"
#include "worker/options.hpp"
#include "worker/rank_error_file.hpp"
#include "worker/rank_setup.hpp"
#include "worker/rotating_log.hpp"
#include "worker/setup_command.hpp"
#include "worker/step_call.hpp"
#include "worker/supervise.hpp"
#include "worker/torch_console.hpp"
#include "worker/wrapper_arg.hpp"

namespace dtrain::worker {
namespace {

using cluster::Event;

/// Replaces this process with dtrain-native: the pid stays the one that mpirun started.
[[noreturn]] void exec_native(const std::string& command, const std::vector<std::string>& arguments,
                              const Environment& variables) {
    const auto program =
        this_executable().parent_path().parent_path() / "libexec" / "dtrain" / "dtrain-native";
    std::vector<std::string> argv{command};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const int error = ExecImage(std::move(argv), variables).become(program.c_str());
    throw Error(fmt::format("cannot execute {}: {}; is dtrain installed whole?", program.string(),
                            std::strerror(error)));
}

/// For a watch that nobody asked for: debuggers stop a program for a moment.
Environment without_debuggers() {
    return {{"PATH", "/nonexistent"}};
}

/// Everything about this rank that is decided before anything starts.
class Rank {
  public:
    Rank(Options options, const Environment& environment)
        : options_(std::move(options)),
          inherited_(environment),
          identity_(cluster::identify(environment)),
          contract_(cluster::RankContract::read(environment)) {
        if (identity_.hosts.empty()) name_hosts_by_scheduler();
        under_launcher_ = contract_.sends_events.value_or(false);
        if (under_launcher_) use_node_command();
        if (contract_.control == cluster::RankContract::Control::standard_input)
            commands_from_ = Commands::Source::signals_and_stdin;
        else if (!under_launcher_ && options_.task == Options::Task::supervise &&
                 identity_.launcher == cluster::Launcher::slurm && identity_.size > 1)
            commands_from_ = Commands::Source::signals_in_step;
        else if (under_launcher_)
            commands_from_ = Commands::Source::signals_of_launcher;
        // Another rank may fail, or the launcher say "stop", before this one is ready for it.
        if (under_launcher_ || commands_from_ == Commands::Source::signals_in_step)
            block_signals(commands_from_);
        assign();
    }

    [[noreturn]] void become_native_job(const std::string& command) {
        remove_leftovers_of_dead_jobs();
        auto variables = inherited_;
        if (!variables.has("OMP_NUM_THREADS") ||
            cluster::pbs_thread_count_too_high(variables, assignment_.threads))
            variables.set("OMP_NUM_THREADS", std::to_string(assignment_.threads));
        prepare_mpi(variables);
        exec_native(command, options_.command, variables);
    }

    int supervise_program() {
        GuardedProgram program{.argv = wrapped_command(), .grace = options_.grace};
        limit_silence_of_daemon();
        remove_leftovers_of_dead_jobs();
        // Keeps the ports reserved until just before the program starts.
        HeldPorts held;
        std::optional<AgreedPort> agreed;
        std::filesystem::path log, stdout_log;
        std::optional<RotatingLog> bounded_log;
        try {
            if (under_launcher_) enter_working_folder();
            program.executable = find_program(program.argv.front());
            if (options_.trace_mpi) preloaded_ = trace_mpi_library(inherited_);
            servers_ = planned_server_job(inherited_, identity_, options_.role);
            log = log_path();
            if (contract_.torch) stdout_log = stdout_log_beside(log);
            log_begin_ = options_.log.overwrite ? 0 : size_or_zero(log);
            if (contract_.torch) {
                program.output = open_log(stdout_log, options_.log);
                program.errors = open_log(log, options_.log);
            } else if (options_.log.max_size) {
                bounded_log.emplace(log, options_.log);
            } else {
                program.output = open_log(log, options_.log);
            }
            const auto planned = planned_endpoints(inherited_);
            auto start_port = options_.start_port;
            if (!planned && !start_port && identity_.nodes == 1) {
                agreed.emplace("/dev/shm", identity_.job_id, unplanned_ports(identity_));
                start_port = agreed->first();
            }
            endpoints_ = planned ? *planned : unplanned_endpoints(identity_, start_port);
            held = HeldPorts::exactly(ports_of_rank(identity_, endpoints_, servers_));
        } catch (const PortTaken& error) {
            return give_up(error.what(), Event::Kind::port_taken);
        } catch (const UsageError& error) {
            return give_up(error.what(), Event::Kind::issue);
        }
        program.environment = program_environment(log.parent_path());
        auto error_file = error_file_for(log.parent_path());
        if (error_file) error_file->announce(program.environment);
        OperationsFolder operations(inherited_);
        operations.announce(program.environment);
        held = {};
        std::optional<HangWatch> hang_watch;
        const auto hang_limit = options_.hang_limit.value_or(under_launcher_ ? cluster::learned_hang_limit
                                                                             : cluster::HangLimit());
        if (hang_limit.watches())
            hang_watch.emplace(HangWatch::Options{
                .limit = hang_limit,
                .stacks_file = log.string() + ".stacks",
                .mode = options_.log.mode,
                .environment = options_.hang_limit ? inherited_ : without_debuggers(),
                .operations = operations.path(),
                .operations_file = options_.dumps_operations ? log.string() + ".operations" : ""});
        std::optional<StacksOnDemand> stacks;
        if (under_launcher_)
            stacks.emplace(log.string() + ".stacks-now", options_.log.mode, inherited_, sends_output(),
                           operations.path());
        return supervise({.program = std::move(program),
                          .log = log,
                          .bounded_log = std::move(bounded_log),
                          .rank = identity_.rank,
                          .host = host_name(),
                          .cpus = mask_.to_string(),
                          .other_log = stdout_log,
                          .shown = shown_logs(log, stdout_log),
                          .shows_by_events = under_launcher_ && contract_.shows_by_events.value_or(false),
                          .commands_from = commands_from_,
                          .under_launcher = under_launcher_,
                          .heartbeat = heartbeat(),
                          .operations = std::move(operations),
                          .error_file = std::move(error_file),
                          .hang_watch = std::move(hang_watch),
                          .stacks = std::move(stacks),
                          .inspects_gpus = identity_.local_rank == 0 && node_has_devices(),
                          .warns_of_xids = identity_.local_rank == 0,
                          .watches_gpus = under_launcher_ && node_has_devices(),
                          .report = [&](const Event& event) { report_event(event, log); },
                          .notify_others = notifier()});
    }

  private:
    /// MPI's daemon, which ends a node's ranks when it has lost mpirun, notices a cut cable by keepalive only
    /// while it has nothing to say. The limit is about what keepalive takes, as it is also that of keepalive.
    void limit_silence_of_daemon() const {
        constexpr std::chrono::seconds limit{10};
        if (under_launcher_ && identity_.launcher == cluster::Launcher::open_mpi && identity_.nodes > 1 &&
            identity_.local_rank == 0)
            limit_unanswered(::getppid(), limit);
    }

    /// On a node without a launcher of its own.
    void remove_leftovers_of_dead_jobs() const {
        if (identity_.local_rank != 0) return;
        try {
            remove_leftovers(leftover_folders(inherited_));
        } catch (const UsageError&) {  // no folder for temporary files, which a rank does not need
        }
    }

    /// The command of this node's own dtrain-launch, if it runs one as an agent of node 0's.
    void use_node_command() {
        if (contract_.node_program) options_.command = *contract_.node_program;
    }

    void enter_working_folder() {
        working_folder_ = contract_.node_working_folder.value_or(contract_.working_folder.value_or(""));
        if (working_folder_.empty() || ::chdir(working_folder_.c_str()) == 0) return;
        throw UsageError(
            fmt::format("cannot go to the working folder {}: {}; share it with all nodes, or "
                        "start dtrain-launch on each",
                        working_folder_, std::strerror(errno)));
    }

    void assign() {
        auto planned = cluster::read_assignments(inherited_, identity_.node_rank);
        bool apply = options_.bind && contract_.binds.value_or(true);
        if (!planned) {
            const auto machine = topology::discover();
            apply = apply && machine.is_this_system;
            const auto gpus = gpus_of_node(machine);
            const auto devices = cluster::read_devices(inherited_, identity_.node_rank);
            planned = assign_node(machine, usable_cpus(machine, given_cpus()), gpus,
                                  devices ? *devices : devices_in_turn(gpus.size(), identity_.local_size));
        }
        if (identity_.local_rank >= static_cast<int>(planned->size()))
            throw UsageError(fmt::format("this node was planned for {} ranks, but this is local rank {}",
                                         planned->size(), identity_.local_rank));
        of_node_ = *planned;
        assignment_ = of_node_[static_cast<std::size_t>(identity_.local_rank)];
        mask_ = apply ? bind_this_thread(assignment_.cpus, assignment_.numa_nodes) : CpuSet::of_this_thread();
    }

    /// The GPUs visible on this node, or the subset that the launcher selected by index.
    std::vector<topology::VisibleGpu> gpus_of_node(const topology::Machine& machine) {
        auto visible = topology::visible_gpus(machine, inherited_.get("CUDA_VISIBLE_DEVICES"));
        if (!contract_.selected_gpus) return visible;
        auto selected = selected_gpus(visible, *contract_.selected_gpus);
        std::vector<std::string> ids;
        for (const auto& gpu : selected) ids.push_back(gpu.id);
        selected_ids_ = join(ids, ",");
        return selected;
    }

    /// An mpirun without support for the scheduler does not announce the node names.
    void name_hosts_by_scheduler() {
        if (const auto nodes = scheduler::hosts_of_ranks(inherited_, read_file))
            identity_ = cluster::with_hosts(identity_, *nodes, host_name());
    }

    /// mpirun and hydra bind each rank but not their daemon, so the daemon's mask is what all ranks have
    /// together.
    CpuSet given_cpus() const {
        const bool binds_ranks = identity_.launcher == cluster::Launcher::open_mpi ||
                                 identity_.launcher == cluster::Launcher::hydra;
        if (identity_.launcher == cluster::Launcher::slurm)
            if (const auto bound = cluster::slurm_bound_cpus(inherited_)) return *bound;
        return binds_ranks ? CpuSet::of_process(::getppid()) : CpuSet::of_this_thread();
    }

    bool wrapped() const { return !options_.wrap.empty() && options_.wrap_ranks.contains(identity_.rank); }

    std::vector<std::string> wrapped_command() const {
        std::vector<std::string> argv;
        if (wrapped())
            for (const auto& word : options_.wrap)
                argv.push_back(wrapper_arg(word, identity_.rank, host_name()));
        argv.insert(argv.end(), options_.command.begin(), options_.command.end());
        return options_.setup.empty() ? argv : with_setup(options_.setup, argv);
    }

    std::string find_program(const std::string& name) const {
        if (auto found = find_in_path(name, inherited_)) return *found;
        const bool exists = name.find('/') != std::string::npos && ::access(name.c_str(), F_OK) == 0;
        throw UsageError(fmt::format(
            "cannot execute {}\"{}\": {}", wrapped() ? "the --wrap command " : "", name,
            exists ? "it is not executable (chmod +x, or name its interpreter)" : "no such program"));
    }

    std::string log_name() const {
        if (!servers_) return cluster::log_name(cluster::Role::trainer, identity_.rank);
        const auto member = cluster::member_of(*servers_, identity_.rank);
        return cluster::log_name(member.role, member.index);
    }

    std::filesystem::path log_path() const {
        auto folder = std::filesystem::absolute(contract_.node_log_folder.value_or(options_.log_dir));
        if (contract_.torch) {
            const auto attempt = inherited_.get_int("TORCHELASTIC_RESTART_COUNT").value_or(0);
            folder /= cluster::torch_log_folder(attempt, identity_.local_rank);
        }
        [[maybe_unused]] const auto open_log_reports = make_log_folders(folder);
        return folder / (contract_.torch ? cluster::torch_stderr_log : log_name());
    }

    /// Of a job of dtrain-run, whose ranks' log is that of their stderr.
    static std::filesystem::path stdout_log_beside(const std::filesystem::path& log) {
        return log.parent_path() / cluster::torch_stdout_log;
    }

    /// A rank runs without one, too: its log still has the error.
    std::optional<RankErrorFile> error_file_for(const std::filesystem::path& log_folder) const {
        if (contract_.torch) return RankErrorFile::kept_in(log_folder);
        try {
            return RankErrorFile(inherited_, log_folder);
        } catch (const std::system_error&) {
            return std::nullopt;
        }
    }

    /// Rank 0, or in a parameter-server job worker 0.
    bool is_first_trainer() const {
        return servers_ ? identity_.rank == static_cast<int>(servers_->servers.size()) : identity_.rank == 0;
    }

    /// Lines of several ranks on one console are prefixed with the rank.
    std::optional<std::string> console_prefix() const {
        const bool shown = options_.show ? options_.show->contains(identity_.rank) : is_first_trainer();
        if (!shown) return std::nullopt;
        const bool with_others = options_.show && options_.show->count_in(identity_.size) > 1;
        return with_others ? fmt::format("[{}] ", identity_.rank) : "";
    }

    std::vector<ShownLog> shown_logs(const std::filesystem::path& log,
                                     const std::filesystem::path& stdout_log) const {
        if (contract_.torch)
            return shown_torch_logs(*contract_.torch, identity_, host_name(), stdout_log, log);
        const auto prefix = console_prefix();
        if (!prefix) return {};
        return {{.log = log, .style = {.prefix = *prefix}}};
    }

    Environment program_environment(const std::filesystem::path& log_dir) const {
        cluster::ProgramContext context{.identity = identity_,
                                        .endpoints = endpoints_,
                                        .servers = servers_,
                                        .rpc = contract_.run_mode == cluster::RunMode::rpc,
                                        .backend = contract_.backend.value_or(""),
                                        .torch = contract_.torch};
        for (const auto& rank : of_node_) context.devices_of_rank.push_back(rank.devices);
        const auto view = view_of(visible_of_node(), assignment_.devices,
                                  servers_ || (contract_.torch && contract_.torch->virtual_local_rank));
        context.selected_devices = view.positions;
        context.cuda_visible_devices = view.cuda_visible_devices;
        context.threads = assignment_.threads;
        context.log_dir = log_dir.string();
        context.gloo_fs_path = contract_.gloo_folder
                                   ? *contract_.gloo_folder
                                   : gloo_folder(log_dir, identity_.job_id, options_.log.folders);
        context.pod_name = contract_.pod_name.value_or(pod_name(identity_));
        auto variables = cluster::program_environment(inherited_, context);
        if (contract_.mpiruns_variable) variables.unset(*contract_.mpiruns_variable);
        const bool too_long = !variables.has("PADDLE_TRAINER_ENDPOINTS");
        if (!servers_ && (too_long || (under_launcher_ && identity_.local_rank == 0))) {
            // The run's folder, not the attempt's.
            const auto file =
                endpoints_file_in(contract_.torch ? log_dir.parent_path().parent_path() : log_dir);
            if (too_long) variables.set("DTRAIN_ENDPOINTS_FILE", file);
        }
        if (!working_folder_.empty()) variables.set("PWD", working_folder_);
        variables.set("DTRAIN_RANK_CPUS", assignment_.cpus.to_string());
        if (!assignment_.adapter.empty()) variables.set("DTRAIN_RANK_ADAPTER", assignment_.adapter);
        name_network_interface(variables, identity_, [&](const std::string& host) {
            return contract_.network_interface ? contract_.network_interface : routed_interface(host);
        });
        prepare_mpi(variables);
        if (!preloaded_.empty()) preload_first(variables, preloaded_);
        return variables;
    }

    /// The launcher has already written this file, but possibly where this node cannot see it.
    std::string endpoints_file_in(const std::filesystem::path& log_dir) const {
        const auto path = log_dir / "endpoints.log";
        const auto text = cluster::endpoints_file(endpoints_.trainers);
        if (read_file(path) != text) replace_file(path, text);
        return path.string();
    }

    std::string visible_of_node() const {
        return contract_.visible_gpus_of(identity_.node_rank).value_or(selected_ids_);
    }

    bool node_has_devices() const {
        return std::ranges::any_of(of_node_, [](const auto& rank) { return !rank.devices.empty(); });
    }

    std::chrono::seconds heartbeat() const {
        const bool speaks_for_the_node = under_launcher_ && identity_.local_rank == 0;
        return speaks_for_the_node ? contract_.heartbeat.value_or(std::chrono::seconds(0))
                                   : std::chrono::seconds(0);
    }

    void prepare_mpi(Environment& variables) const {
        // An MPI rank that busy-waits starves other ranks on the same processors.
        if (assignment_.shared && !variables.has("OMPI_MCA_mpi_yield_when_idle"))
            variables.set("OMPI_MCA_mpi_yield_when_idle", "1");
        cluster::choose_pmix_store(variables);
        variables.set_all(mpi_start_variables(variables));
    }

    void report_event(const Event& event, const std::filesystem::path& log) const {
        if (under_launcher_) {
            write_event(STDERR_FILENO, event);
            if (may_hold_root_cause(event) && sends_output()) report_output(event, log);
        } else if (event.kind != Event::Kind::started && event.kind != Event::Kind::done) {
            const auto* where = event.kind == Event::Kind::idle ? "stacks: {}.stacks" : "log: {}";
            write_all(STDERR_FILENO, fmt::format("dtrain-worker: {}; {}\n", cluster::to_sentence(event),
                                                 fmt::format(fmt::runtime(where), log.string())));
        }
    }

    /// When ranks throw the same error together, rank 0 reports it; a server reports its own. Either may be
    /// stopped while it exits.
    bool may_hold_root_cause(const Event& event) const {
        if (event.kind == Event::Kind::exited) return true;
        const bool is_server = servers_ && identity_.rank < static_cast<int>(servers_->servers.size());
        return event.kind == Event::Kind::stopped && (identity_.rank == 0 || is_server);
    }

    /// Set if the launcher may not see this node's files.
    bool sends_output() const { return contract_.sends_output.value_or(false); }

    void report_output(Event event, const std::filesystem::path& log) const {
        event.kind = Event::Kind::output;
        event.text = tail_of(log, log_begin_);
        if (event.text.empty() && contract_.torch) event.text = tail_of(stdout_log_beside(log), 0);
        write_event(STDERR_FILENO, event);
    }

    std::function<void()> notifier() const {
        if (commands_from_ != Commands::Source::signals_in_step) return {};
        return [this] {
            const auto step = fmt::format("{}.{}", inherited_.get_or("SLURM_JOB_ID", ""),
                                          inherited_.get_or("SLURM_STEP_ID", ""));
            if (!notify_step(step, inherited_))
                write_all(STDERR_FILENO,
                          "dtrain-worker: the other ranks go on, as scancel could not reach them; use srun "
                          "--kill-on-bad-exit=1\n");
        };
    }

    /// Called before anything was started. Under dtrain-launch reports an event; else one rank per node
    /// prints the message.
    int give_up(const std::string& text, Event::Kind kind) const {
        const Event event{.kind = kind,
                          .rank = identity_.rank,
                          .host = host_name(),
                          .code = status_usage,
                          .time_us = now_us(),
                          .text = text};
        const auto report = [&](const Event& again) { report_event(again, {}); };
        if (under_launcher_) {
            report(event);
            Commands commands(commands_from_);
            return wait_until_released(event, report, commands);
        }
        if (identity_.local_rank == 0)
            write_all(STDERR_FILENO, "dtrain-worker: " + text + "\n");
        else  // mpirun drops the output of other ranks once one has failed: the speaker goes first
            std::this_thread::sleep_for(std::chrono::seconds(1));
        if (const auto notify_others = notifier(); notify_others && identity_.local_rank == 0)
            notify_others();
        return status_usage;
    }

    Options options_;
    const Environment& inherited_;
    cluster::Identity identity_;
    const cluster::RankContract contract_;
    cluster::Endpoints endpoints_;
    std::optional<cluster::ServerJob> servers_;
    std::vector<cluster::RankAssignment> of_node_;
    cluster::RankAssignment assignment_;
    CpuSet mask_;
    std::string preloaded_;         ///< "": no library is
    std::string working_folder_;    ///< "": the one that mpirun or srun chose
    std::string selected_ids_;      ///< ids of the GPUs that the launcher selected by index; "": no selection
    std::uintmax_t log_begin_ = 0;  ///< offset where the output of this run begins
    bool under_launcher_ = false;
    Commands::Source commands_from_ = Commands::Source::signals;
};

}  // namespace

int run_rank(const std::string& command, const std::vector<std::string>& arguments,
             const Environment& environment) {
    auto parsed = parse_options(arguments, environment);
    if (parsed.text) {
        write_all(STDOUT_FILENO, *parsed.text);
        return 0;
    }
    const auto task = parsed.options.task;
    if (task == Options::Task::info) exec_native(command, parsed.options.command, environment);
    Rank rank(std::move(parsed.options), environment);
    if (task == Options::Task::supervise) return rank.supervise_program();
    rank.become_native_job(command);
}

}  // namespace dtrain::worker
