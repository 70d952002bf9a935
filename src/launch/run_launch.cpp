// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/run_launch.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

#include "base/exec_image.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/log_files.hpp"
#include "base/oom_watch.hpp"
#include "base/ports.hpp"
#include "base/redact.hpp"
#include "base/temporary_folder.hpp"
#include "cluster/pbs_allocation.hpp"
#include "cluster/slurm_allocation.hpp"
#include "launch/banner.hpp"
#include "launch/carried.hpp"
#include "launch/elastic_job.hpp"
#include "launch/elastic_settings.hpp"
#include "launch/follow.hpp"
#include "launch/followers.hpp"
#include "launch/hang_report.hpp"
#include "launch/hello.hpp"
#include "launch/key_command.hpp"
#include "launch/log_folder.hpp"
#include "launch/meeting.hpp"
#include "launch/mpirun.hpp"
#include "launch/mpirun_probe.hpp"
#include "launch/network.hpp"
#include "launch/nodes.hpp"
#include "launch/plan.hpp"
#include "launch/program.hpp"
#include "launch/rank_facts.hpp"
#include "launch/report.hpp"
#include "launch/report_file.hpp"
#include "launch/run_submit.hpp"
#include "launch/settings.hpp"
#include "launch/srun.hpp"
#include "launch/srun_probe.hpp"
#include "launch/watch.hpp"
#include "launch/worker_options.hpp"
#include "link/tcp.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;

constexpr int port_tries = 3;

std::string installed(const fs::path& below_prefix) {
    return (this_executable().parent_path().parent_path() / below_prefix).string();
}

std::string absolute_log_dir(const std::string& log_dir) {
    return fs::absolute(log_dir).lexically_normal().string();
}

std::string random_token() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::vector<cluster::HostSlots> hostfile_of(const Options& options) {
    if (!options.hostfile) return {};
    const auto text = read_file(*options.hostfile);
    if (!text)
        throw UsageError(fmt::format("--hostfile {} cannot be read: {}", *options.hostfile,
                                     std::generic_category().message(errno)));
    return cluster::parse_hostfile(*text);
}

/// What each rank executes.
std::vector<std::string> program_of(const Options& options, const Environment& environment) {
    return program_for(options.script, options.script_arguments, installed("libexec/dtrain/dtrain-native"),
                       real_files(environment));
}

/// The platform watches and restarts its processes itself.
int run_once_on_cloud(const Options& options, const Environment& environment) {
    const auto program = program_of(options, environment);
    if (!options.dry_run.empty()) {
        write_all(STDOUT_FILENO, fmt::format("{}\n", fmt::join(redacted_arguments(program), " ")));
        return 0;
    }
    spdlog::info(
        "on PaddleCloud a process of a parameter-server job runs the script once, with the variables of "
        "the platform");
    const auto file = find_in_path(program.front(), environment);
    const int error = file ? ExecImage(program, environment).become(file->c_str()) : ENOENT;
    throw UsageError(
        fmt::format("cannot execute {}: {}", program.front(), std::generic_category().message(error)));
}

/// PBS' own remote shell keeps the ranks under its control; a site without it has ssh.
std::string shell_of_pbs(const Environment& environment) {
    if (const auto found = find_in_path("pbs_tmrsh", environment)) return *found;
    const auto in_pbs = fs::path(environment.get_or("PBS_EXEC", "/opt/pbs")) / "bin/pbs_tmrsh";
    return ::access(in_pbs.c_str(), X_OK) == 0 ? in_pbs.string() : "";
}

class Launch {
  public:
    Launch(Options options, const Environment& environment)
        : options_(std::move(options)),
          given_(given_variables(options_, environment, read_file)),
          environment_(environment),
          elastic_(elastic_settings(options_, environment)) {
        for (const auto& [name, value] : given_) environment_.set(name, value);
        choose_nodes_and_engine();
        std::optional<MpirunProbe> probe;
        if (engine_ == Engine::mpirun) probe.emplace(environment_);
        options_.log_dir = expanded_log_dir(options_, environment_, std::to_string(::getpid()));
        program_ = program_of(options_, environment_);
        hostfile_ = hostfile_of(options_);
        machine_ = topology::discover();
        if (machine_.is_this_system) {
            const auto usable = machine_.allowed & CpuSet::of_this_thread();
            if (!usable.empty()) machine_ = topology::restricted(machine_, usable);
        }
        if (probe) probe->require_open_mpi();
        refuse_missing_wrapper(options_, environment_);
        if (options_.network_interface) check_network_interface(*options_.network_interface, interfaces());
    }

    int run() {
        if (elastic_) {
            const auto own = own_address(*elastic_, options_);
            options_ = options_of_start(std::move(options_), {own}, own);
        }
        if (!options_.dry_run.empty()) return show_plan();
        if (options_.report) check_report_file(*options_.report);
        ::signal(SIGPIPE, SIG_IGN);  // a console that nobody reads any more does not end the job
        if (elastic_) return run_elastic();
        if (const auto status = meet_other_nodes()) return *status;
        const int most_restarts = options_.max_restart.value_or(0);
        for (int restart = 0;; ++restart) {
            const auto outcome = run_once({.restarts = restart});
            if (outcome.status == 0 || outcome.asked_to_stop_by != 0 || restart == most_restarts) {
                if (followers_) followers_->finish(outcome.status, outcome.text);
                return outcome.status;
            }
            spdlog::warn("the job failed with status {}; starting it again, {} of at most {} times",
                         outcome.status, restart + 1, most_restarts);
            options_.log_overwrite = false;  // the logs tell what failed
        }
    }

  private:
    /// An allocation of Slurm or PBS names the nodes unless an option does.
    void choose_nodes_and_engine() {
        if (elastic_) return;  // its nodes stand in etcd
        allocation_ = cluster::slurm_allocation(environment_);
        const bool of_slurm = allocation_.has_value();
        if (!of_slurm) allocation_ = cluster::pbs_allocation(environment_, read_file);
        if (allocation_ && !uses_allocation(options_, environment_, *allocation_)) allocation_.reset();
        engine_ = choose_engine(options_.engine, of_slurm && allocation_.has_value(),
                                find_in_path("srun", environment_).has_value());
        if (!allocation_) return;
        if (options_.job_id == Options().job_id) options_.job_id = allocation_->job_id;
        if (engine_ == Engine::srun) srun_site_ = ask_slurm(*allocation_, environment_);
        if (!of_slurm && allocation_->nodes.size() > 1) remote_shell_ = shell_of_pbs(environment_);
    }

    struct Outcome {
        int status = 0;
        int asked_to_stop_by = 0;  ///< signal
        bool ordered_to_stop = false;
        std::vector<std::size_t> silent_nodes;  ///< others than this one, where a rank never told its end
        std::string text;                       ///< the report's first line
    };

    /// Takes part in the job with what this machine has; every start in which it is head is one of run_once.
    int run_elastic() {
        const auto own_plan = plan_now();  // what is wrong with the options is said before others wait for us
        OwnPart own{.processes = own_plan.size()};
        for (const auto& rank : own_plan.nodes.front().ranks)
            own.gpus.insert(own.gpus.end(), rank.gpus.begin(), rank.gpus.end());
        const auto options = options_;
        return run_elastic_job(*elastic_, options, environment_, own, [&](const StartOrder& start) {
            const bool log_overwrite = options_.log_overwrite;
            options_ = start.options;
            options_.log_overwrite = log_overwrite;
            auto outcome = run_once(start);
            options_.log_overwrite = false;
            return ElasticStartEnd{.status = outcome.status,
                                   .stopped_by = outcome.asked_to_stop_by,
                                   .ordered = outcome.ordered_to_stop,
                                   .lost_nodes = std::move(outcome.silent_nodes)};
        });
    }

    /// One start of the job, or several where ports that were free got taken in between.
    Outcome run_once(const StartOrder& order) {
        for (int attempt = 1;; ++attempt) {
            const auto plan = plan_with_followers(attempt);
            const auto token = random_token();
            // Bad words for the workers are found before anything is there.
            const auto argv = command(plan, token);
            make_log_folder(plan.log_dir);
            const bool first = !claim_;
            if (first) claim_log_folder(plan);
            if (first) announce(plan);
            if (order.publish) order.publish(plan.endpoints.trainers);
            const auto facts = facts_of(plan, host_name());
            std::vector<std::uintmax_t> log_begins;
            for (const auto& rank : facts)
                log_begins.push_back(options_.log_overwrite ? 0 : size_or_zero(rank.log));
            const OomWatch oom_watch;
            const auto ended = start(plan, argv, token, order);
            const auto failures = ended.job.failures();
            const bool port_taken =
                !failures.empty() && failures.front().kind == cluster::Event::Kind::port_taken;
            if (!port_taken || !plan.free_ports || attempt == port_tries)
                return report(plan, facts, ended, log_begins, oom_watch, order);
            spdlog::warn("{}; planning again with other ports", failures.front().text);
        }
    }

    static std::vector<std::size_t> silent_nodes(const Plan& plan, const JobState& job) {
        const auto silent = job.silent();
        const std::set<int> never_told(silent.begin(), silent.end());
        std::vector<std::size_t> out;
        for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
            const auto& ranks = plan.nodes[node].ranks;
            const bool is_silent = std::any_of(ranks.begin(), ranks.end(), [&](const RankPlan& rank) {
                return never_told.contains(rank.rank);
            });
            if (is_silent && static_cast<int>(node) != plan.own_node) out.push_back(node);
        }
        return out;
    }

    void claim_log_folder(const Plan& plan) {
        claim_.emplace(plan.log_dir, fmt::format("pid {}, job {}", ::getpid(), plan.job_id));
        if (claim_->other())
            spdlog::warn(
                "another job writes into {} ({}): their lines will mix; give each its own --log_dir, "
                "for instance log/%j",
                plan.log_dir, *claim_->other());
    }

    Plan plan_now(int attempt = 1) { return plan_for(options_, met_, attempt); }

    Plan plan_for(const Options& options, const std::vector<MetNode>& met, int attempt) {
        std::vector<HeldPorts> held;  // until the plan is made: no port is given out twice
        return make_plan(
            {.options = options,
             .environment = environment_,
             .machine = machine_,
             .program = program_,
             .log_dir = absolute_log_dir(options_.log_dir),
             .working_dir = fs::current_path().string(),
             .hostfile = hostfile_,
             .allocation = allocation_,
             .engine = engine_,
             .remote_shell = remote_shell_,
             .met = met,
             .own_addresses = own_addresses(),
             .ports = {.any =
                           [&](int count) {
                               held.push_back(HeldPorts::any(count));
                               return held.back().numbers();
                           },
                       .exactly =
                           [&](const std::vector<int>& ports) { held.push_back(HeldPorts::exactly(ports)); }},
             .attempt = attempt});
    }

    std::vector<std::string> command(const Plan& plan, const std::string& token) const {
        const auto hostfile = plan.log_dir + "/hostfile";
        const auto worker = installed("bin/dtrain-worker");
        if (engine_ == Engine::srun)
            return srun_command(plan,
                                {.hostfile = hostfile,
                                 .worker = worker,
                                 .step_name = step_name(token),
                                 .pmix = srun_site_.pmix},
                                options_);
        auto job = environment_;
        for (const auto& [name, value] : variables_of_workers(plan, "")) job.set(name, value);
        return mpirun_command(plan, hostfile, worker, options_, carried_names(job, given_));
    }

    static std::string step_name(const std::string& token) { return "dtrain." + token.substr(0, 8); }

    /// What the ranks are told beside what they inherit.
    Environment variables_of_workers(const Plan& plan, const std::string& token, int restarts = 0) const {
        const bool as_root = ::geteuid() == 0;
        auto out = engine_ == Engine::srun ? srun_worker_environment(plan, options_, token, as_root)
                                           : worker_environment(plan, options_, token, as_root);
        if (elastic_ || options_.max_restart.value_or(0) > 0)
            for (const char* name : {"PADDLE_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"})
                out.set(name, std::to_string(restarts));
        return out;
    }

    static void refuse_another_machine(const Plan& plan) {
        if (plan.nodes.size() == 1 && !plan.own_node)
            throw UsageError(
                fmt::format("node {} is not this machine; start dtrain-launch there, or name "
                            "this machine's own address with --host",
                            plan.nodes.front().host));
    }

    /// Of several nodes the first drives the job; the status when this is another one, and the job is over.
    std::optional<int> meet_other_nodes() {
        if (allocation_) return std::nullopt;  // a scheduler's nodes are reached through it
        if (const int count = nodes_at_master(options_); count > 0) return meet_at_master(count);
        const auto plan = plan_now();
        if (plan.nodes.size() == 1) return std::nullopt;
        refuse_stranger(plan);
        if (!plan.own_node) return std::nullopt;
        const auto meeting = meeting_of(options_, hosts_of(plan));
        if (*plan.own_node > 0)
            return follow_head(meeting, hello_of(plan, options_, host_name(), 0), options_, environment_);
        auto listener = link::listen_at(meeting.head, meeting.port);
        if (!listener.valid()) refuse_port(meeting, errno);
        followers_.emplace(std::move(listener), meeting, plan, options_, environment_);
        return std::nullopt;
    }

    std::optional<int> meet_at_master(int count) {
        const auto meeting = meeting_at_master(options_);
        if (may_be_head(options_, meeting, own_addresses())) {
            auto listener = link::listen_at(meeting.head, meeting.port);
            // Of several launchers on one machine the first one gets the port.
            const bool another_is_head = errno == EADDRINUSE && options_.rank.value_or(-1) < 0;
            if (listener.valid()) {
                followers_.emplace(std::move(listener), meeting, count, options_, environment_);
                return std::nullopt;
            }
            if (!another_is_head) refuse_port(meeting, errno);
        }
        const auto hello = hello_of(plan_of_this_machine(), options_, host_name(), count);
        return follow_head(meeting, hello, options_, environment_);
    }

    /// With --ips the same command runs on every node, so this one must be among them.
    void refuse_stranger(const Plan& plan) const {
        if (plan.own_node || options_.hostfile || plan.servers) return;
        throw UsageError(
            fmt::format("none of this machine's addresses is in --ips {}; name its address there with --host",
                        options_.ips));
    }

    Plan plan_with_followers(int attempt) {
        if (!followers_) {
            auto plan = plan_now(attempt);
            if (engine_ == Engine::mpirun) refuse_another_machine(plan);
            return plan;
        }
        followers_->gather();
        if (nodes_at_master(options_) > 0) met_ = followers_->met(plan_of_this_machine().size());
        return followers_->start(plan_now(attempt));
    }

    Plan plan_of_this_machine() {
        auto options = options_;
        options.master.reset();
        options.rank.reset();
        options.host.reset();
        options.nnodes = Options().nnodes;
        return plan_for(options, {}, 1);
    }

    int show_plan() {
        const auto plan = plan_now();
        auto added = variables_of_workers(plan, "");
        added.unset("DTRAIN_JOB_TOKEN");
        const auto argv = command(plan, "");
        const auto text = options_.dry_run == "json" ? to_json(plan, argv, added) : to_table(plan, argv);
        write_all(STDOUT_FILENO, text);
        return 0;
    }

    void announce(const Plan& plan) const {
        for (const auto& warning : plan.warnings) spdlog::warn("{}", warning);
        if (options_.quiet) return;
        write_all(STDOUT_FILENO, configuration_banner(options_, plan.nodes.front().cuda_visible_devices));
        for (const auto& greeting : greetings(plan)) {
            spdlog::info("{}", greeting.line);
            write_all(STDOUT_FILENO, distributed_envs_table(greeting.rows));
        }
        spdlog::info("{}", where_logs_are(plan, options_.log_dir));
    }

    /// Some node is reached by a remote shell, and not by a launcher of its own or by Slurm.
    bool behind_ssh(const Plan& plan) const {
        return engine_ == Engine::mpirun && plan.nodes.size() > 1 &&
               (!followers_ || followers_->any_by_ssh());
    }

    Watched start(const Plan& plan, const std::vector<std::string>& argv, const std::string& token,
                  const StartOrder& order) {
        if (!plan.servers) replace_file(plan.log_dir + "/endpoints.log", endpoints_log(plan));
        replace_file(plan.log_dir + "/hostfile", hostfile_text(plan));
        std::optional<TemporaryFolder> gloo_folder;
        if (plan.nodes.size() == 1 && plan.own_node) gloo_folder.emplace();  // the nodes share no /tmp
        const bool by_srun = engine_ == Engine::srun;
        WatchOptions options{.command = argv,
                             .control = by_srun ? RankControl::of_srun({.job_id = allocation_->job_id,
                                                                        .name = step_name(token)})
                                                : RankControl::of_mpirun(),
                             .environment = by_srun ? srun_environment(environment_) : environment_,
                             .size = plan.size(),
                             .companions = companions_of(plan),
                             .grace = options_.grace,
                             .hang_timeout = options_.hang_timeout,
                             .beating = first_ranks_of_nodes(plan),
                             .longest_silence = 4 * heartbeat,
                             .job_token = token,
                             .stop_fd = order.stop != nullptr ? order.stop->fd() : -1,
                             .log_dir = options_.log_dir,
                             .status_line = !options_.quiet};
        for (const auto& [name, value] : variables_of_workers(plan, token, order.restarts))
            options.environment.set(name, value);
        if (behind_ssh(plan)) {
            // A daemon there learns of a cut cable from TCP's keepalive, which holds only while nothing is on
            // its way: signs of life would keep it, and its ranks, alive.
            options.environment.unset("DTRAIN_HEARTBEAT");
            options.beating.clear();
        }
        if (!by_srun)
            for (const auto& [name, value] :
                 mpi_network_variables(plan.hosts(), options_.network_interface, environment_,
                                       NetworkQuestions::of_this_machine()))
                options.environment.set(name, value);
        if (gloo_folder) options.environment.set("DTRAIN_GLOO_FS_PATH", gloo_folder->path());
        if (followers_) {
            options.beside = followers_->beside(token);
            for (const auto& [name, value] : followers_->for_mpirun(installed("libexec/dtrain/dtrain-agent")))
                options.environment.set(name, value);
        }
        return watch(options);
    }

    Outcome report(const Plan& plan, const std::vector<RankFacts>& facts, const Watched& ended,
                   const std::vector<std::uintmax_t>& log_begins, const OomWatch& oom_watch,
                   const StartOrder& order) const {
        const auto kills = oom_watch.kills_since();
        Ending ending{.engine = to_string(engine_),
                      .mpirun = ended.mpirun,
                      .asked_to_stop_by = ended.asked_to_stop_by,
                      .mpirun_text = ended.mpirun_text,
                      .restarts = order.restarts,
                      .machine = host_name(),
                      .machine_facts = kills && kills->count > 0 ? kills->to_sentence() : ""};
        if (!ended.hung.empty()) {
            ending.stop_reason = hang_reason(ended.hung);
            ending.stop_details =
                hang_places(ended.hung, [&](int rank) { return facts[static_cast<std::size_t>(rank)].log; });
            ending.stop_status = status_hung;
        } else if (ended.ordered_to_stop) {
            ending.stop_reason = order.why_stopped();
        }
        if (ended.lost) ending.lost_node = facts[static_cast<std::size_t>(*ended.lost)].node;
        ending.lost_because = ended.lost_because;
        const auto log_tail = [&](int rank) {
            const auto number = static_cast<std::size_t>(rank);
            const auto& sent = ended.job.output_of(rank);  // by a rank of another node
            return sent.empty() ? tail_of(facts[number].log, log_begins[number]) : sent;
        };
        const auto report = redacted(examine(ended.job, ending, facts, log_tail),
                                     KnownSecrets(environment_, options_.script_arguments));
        for (const auto& rank : report.stopped)
            if (const auto line = last_words(report, rank)) append_line(rank.facts.log, *line);
        if (options_.report)
            write_report_file(*options_.report, report_json(report), static_cast<mode_t>(options_.log_mode));
        const auto text = report_text(report);
        if (!text.empty()) write_all(STDERR_FILENO, "dtrain-launch: " + text);
        return {.status = report.status,
                .asked_to_stop_by = ended.asked_to_stop_by,
                .ordered_to_stop = ended.ordered_to_stop,
                .silent_nodes = silent_nodes(plan, ended.job),
                .text = text.substr(0, text.find('\n'))};
    }

    Options options_;
    Environment given_;  ///< by --env and --env-file
    Environment environment_;
    std::optional<ElasticSettings> elastic_;
    std::optional<LogFolderClaim> claim_;
    std::vector<std::string> program_;
    std::vector<cluster::HostSlots> hostfile_;
    topology::Machine machine_;
    std::optional<cluster::Allocation> allocation_;
    std::string remote_shell_;
    Engine engine_ = Engine::mpirun;
    SrunSite srun_site_;
    std::vector<MetNode> met_;            ///< at --master
    std::optional<Followers> followers_;  ///< of a job on several nodes that this one drives
};

}  // namespace

int run_launch(const std::vector<std::string>& arguments, const Environment& environment) {
    if (!arguments.empty() && arguments.front() == "submit")
        return run_submit({arguments.begin() + 1, arguments.end()}, environment);
    if (is_key_command(arguments)) return run_key_command(arguments, environment);
    auto parsed = parse_options(arguments, environment, read_settings(settings_files(environment)));
    if (parsed.text) {
        write_all(STDOUT_FILENO, *parsed.text);
        return 0;
    }
    refuse_submit_options(parsed);
    set_up_log("dtrain-launch");
    set_log_level(parsed.options.log_level);
    for (const auto& notice : parsed.notices) spdlog::warn("{}", notice);
    if (const auto command = elastic_command(parsed.options, environment))
        return run_elastic_command(*command, parsed.options);
    if (runs_once_on_cloud(parsed.options, environment))
        return run_once_on_cloud(parsed.options, environment);
    return Launch(std::move(parsed.options), environment).run();
}

}  // namespace dtrain::launch
