// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/run_launch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/exit_status.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/leftovers.hpp"
#include "base/log.hpp"
#include "base/ports.hpp"
#include "base/process_tree.hpp"
#include "base/random_id.hpp"
#include "base/signals.hpp"
#include "base/slurm_task.hpp"
#include "base/status_retry_later.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "base/wall_clock.hpp"
#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/backend/planner.hpp"
#include "launch/backend/registry.hpp"
#include "launch/backend/start_command.hpp"
#include "launch/check/check_run.hpp"
#include "launch/conclusion.hpp"
#include "launch/elastic_job.hpp"
#include "launch/jobs/compare_command.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/jobs/job_metrics.hpp"
#include "launch/jobs/run_submit.hpp"
#include "launch/jobs/running_job.hpp"
#include "launch/options/begin_log.hpp"
#include "launch/options/carried.hpp"
#include "launch/options/elastic_settings.hpp"
#include "launch/options/hang_options.hpp"
#include "launch/options/paddle_files.hpp"
#include "launch/options/settings.hpp"
#include "launch/outcome/rank_info.hpp"
#include "launch/outcome/report_file.hpp"
#include "launch/plan/cloud_once.hpp"
#include "launch/plan/log_folder.hpp"
#include "launch/plan/network.hpp"
#include "launch/plan/program.hpp"
#include "launch/rendezvous/key_command.hpp"
#include "launch/rendezvous/rendezvous.hpp"
#include "launch/supervise/banner.hpp"
#include "launch/supervise/watch.hpp"
#include "protocol/gloo_folder.hpp"
#include "protocol/rank_contract.hpp"
#include "scrape/endpoint.hpp"
#include "scrape/listen_address.hpp"
#include "scrape/prometheus_module.hpp"

namespace dtrain::launch {
namespace {

constexpr int port_tries = 3;
constexpr std::string_view metrics_option = "--metrics-port";
constexpr std::chrono::seconds between_heartbeats{5};  // of each node, in a job on several nodes
constexpr std::chrono::milliseconds until_srun_has_read{300};

Environment with_given(Environment environment, const Environment& given) {
    environment.set_all(given);
    return environment;
}

/// Variables of --env and --env-file take precedence.
Environment variables_for_programs(const Options& options, const Environment& environment) {
    return with_given(variables_of_paddle_files(options, read_file),
                      given_variables(options, environment, read_file));
}

void refuse_another_machine(const Plan& plan) {
    if (plan.nodes.size() == 1 && !plan.own_node)
        throw UsageError(
            fmt::format("node {} is not this machine; start dtrain-launch there, or name "
                        "this machine's own address with --host",
                        plan.nodes.front().host));
}

class Launch {
  public:
    Launch(Options options, const Environment& environment)
        : options_(with_rank_mapping(std::move(options), read_file)),
          given_(variables_for_programs(options_, environment)),
          environment_(with_given(environment, given_)),
          elastic_(elastic_settings(options_, environment)),
          planner_(options_, environment_, elastic_ || options_.torch) {
        options_ = planner_.options();
        refuse_restarts_without_number(options_, elastic_.has_value());
        if (options_.metrics_port)
            metrics_address_ = scrape::parse_listen_address(metrics_option, *options_.metrics_port);
    }

    int run() {
        if (elastic_) {
            const auto own = own_address(*elastic_, options_);
            options_ = options_of_start(std::move(options_), {own}, own);
        }
        if (const auto& missing = planner_.no_program()) refuse(*missing);
        if (options_.dry_run) return show_plan();
        const auto folders = leftover_folders(environment_);
        if (options_.check) return check();
        if (options_.report) check_report_file(*options_.report);
        remove_leftovers(folders);
        ::signal(SIGPIPE, SIG_IGN);  // a console whose reader is gone does not end the job
        if (metrics_address_) serve_metrics();
        if (elastic_) return run_elastic();
        others_ = meet_other_nodes(options_, environment_, planner_, [this] { metrics_show("following"); });
        if (others_.followed) return *others_.followed;
        show_job();
        const int max_restarts = options_.max_restart.value_or(0);
        const auto run = random_id();
        for (int restart = 0;; ++restart) {
            const auto outcome = run_once({.run = run, .restarts = restart});
            metrics_show("waiting");
            const bool is_over = outcome.status == 0 || outcome.status == status_retry_later;
            if (is_over || outcome.stopped_by != 0 || restart == max_restarts) {
                if (others_.agents) others_.agents->finish(outcome.status, outcome.summary);
                shown_->finish(outcome.status);
                return outcome.status;
            }
            log_warning("the job failed with status {}; starting it again, {} of at most {} times",
                        outcome.status, restart + 1, max_restarts);
            options_.log_overwrite = false;  // keep the logs that show the failure
        }
    }

  private:
    /// Other nodes of an elastic job start without this one, and those of another job wait for it.
    [[noreturn]] void refuse(const UsageError& missing) const {
        if (!options_.dry_run && !options_.check && !elastic_)
            report_unable(missing.what(), options_, environment_, planner_);
        throw missing;
    }

    /// Takes part in the elastic job with this machine's resources; each start of which it is the coordinator
    /// is a call of run_once.
    int run_elastic() {
        const auto own_plan = planner_.plan(options_);  // reports errors before other nodes wait for this one
        OwnPart own{.processes = own_plan.size()};
        for (const auto& rank : own_plan.nodes.front().ranks) append(own.gpus, rank.gpus);
        const auto options = options_;
        return run_elastic_job(
            *elastic_, options, environment_, own, [&](const StartRequest& start) { return lead(start); },
            [&](const Options& of_start, const Leaving& leaving) {
                metrics_show("following");
                return follow_start(of_start, environment_, planner_, leaving);
            });
    }

    JobOutcome lead(const StartRequest& start) {
        const bool log_overwrite = options_.log_overwrite;
        options_ = start.options;
        options_.log_overwrite = log_overwrite;
        others_ = lead_start(options_, environment_, planner_);
        show_job();
        auto outcome = run_once(start);
        metrics_show("waiting");
        shown_->finish(outcome.status);
        shown_.reset();  // the next start may be coordinated by another node
        options_.log_overwrite = false;
        if (others_.agents) {
            outcome.absent_nodes = others_.agents->absent();
            std::set lost(outcome.lost_nodes.begin(), outcome.lost_nodes.end());
            lost.merge(others_.agents->lost_nodes());
            outcome.lost_nodes.assign(lost.begin(), lost.end());
            others_.agents->finish(outcome.status, outcome.summary);
        }
        others_ = {};
        return outcome;
    }

    /// Runs one start of the job, or several if free ports were taken in the meantime.
    JobOutcome run_once(const StartRequest& order) {
        for (int attempt = 1;; ++attempt) {
            if (others_.agents && !others_.agents->gather(stop_asked(order.stop)))
                return {.status = status_failed, .commanded_to_stop = true};
            const auto plan = next_plan(attempt);
            const auto token = random_id();
            // Invalid options for the workers are detected before anything is created.
            const auto command = command_for(plan, token, order);
            make_log_folder(plan.log_dir, log_folders());
            const bool first = !claim_;
            if (first) claim_log_folder(plan);
            if (first) announce(plan);
            if (order.publish) order.publish(plan.endpoints.trainers);
            const Conclusion conclusion(plan, options_, environment_, order.restarts, page());
            shown_->describe(plan, conclusion.planned_ranks(), order.restarts);
            if (metrics_) metrics_->begin(conclusion.planned_ranks(), order.restarts);
            const auto ended = start(plan, conclusion.hosts(), command, token, order.stop);
            const auto failures = ended.job.failures();
            const bool port_taken =
                !failures.empty() && failures.front().kind == cluster::Event::Kind::port_taken;
            if (!port_taken || !plan.free_ports || attempt == port_tries)
                return conclusion.draw(ended, order.why_stopped,
                                       [&](int node, const std::string& log, const std::string& line) {
                                           return others_.agents && others_.agents->end_log(node, log, line);
                                       });
            log_warning("{}; planning again with other ports", failures.front().text);
        }
    }

    bool wants_page() const { return options_.report && RunPage::is_page(*options_.report); }

    RunPage* page() {
        if (!wants_page()) return nullptr;
        if (!page_)
            page_.emplace(*options_.report, static_cast<mode_t>(options_.log_mode),
                          std::filesystem::path(options_.script).filename().string());
        return &*page_;
    }

    /// Whether an elastic job should not be started after all. Other jobs are ended by the signal itself.
    static std::function<bool()> stop_asked(const elastic::StopTimer* stop) {
        return [stop] { return stop != nullptr && (stop->has_reported() || is_waiting(stop_signals_and())); };
    }

    /// From now on Prometheus can read the job's metrics.
    void serve_metrics() {
        const auto& library = scrape::prometheus_module();
        auto listener = scrape::listen_at(*metrics_address_, metrics_option);
        metrics_address_->port = port_of(listener);
        metrics_ = std::make_unique<JobMetrics>(
            JobIdentity{.name = job_name(options_, environment_, std::to_string(::getpid())),
                        .program = options_.script,
                        .engine = std::string(planner_.backend().name()),
                        .host = host_name(),
                        .version = version,
                        .max_restarts = elastic_ ? elastic_->max_failures : options_.max_restart.value_or(0),
                        .began_us = now_us()});
        metrics_endpoint_.emplace(std::move(listener), [&library, metrics = metrics_.get()] {
            return library.text(metrics->families());
        });
        log_info("metrics at http://{}/metrics", scrape::to_string(*metrics_address_));
    }

    void metrics_show(const char* state) {
        if (metrics_) metrics_->be(state);
    }

    /// From now on dtrain-launch status and the like can find the job.
    void show_job() {
        auto record = record_in(environment_);
        record.job = job_name(options_, environment_, std::to_string(::getpid()));
        record.engine = planner_.backend().name();
        record.program = options_.script;
        record.log_dir = std::filesystem::absolute(options_.log_dir).lexically_normal().string();
        shown_.emplace(environment_, std::move(record));
    }

    Plan next_plan(int attempt) {
        if (others_.agents) {
            if (nodes_at_master(options_) > 0)
                joined_ = others_.agents->joined(planner_.plan_of_this_machine(options_));
            return others_.agents->start(planner_.plan(options_, joined_, attempt));
        }
        auto plan = others_.plan ? *std::exchange(others_.plan, std::nullopt)
                                 : planner_.plan(options_, joined_, attempt);
        if (!by_scheduler()) refuse_another_machine(plan);
        return plan;
    }

    bool by_scheduler() const { return planner_.backend().uses_schedulers_daemons(); }

    LogFolders log_folders() const { return options_.trust_log_dir ? LogFolders::any : LogFolders::own; }

    void claim_log_folder(const Plan& plan) {
        claim_.emplace(plan.log_dir, fmt::format("pid {}, job {}", ::getpid(), plan.job_id), log_folders());
        if (claim_->other())
            log_warning(
                "another job writes into {} ({}): their lines will mix; give each its own --log_dir, "
                "for instance log/%j",
                plan.log_dir, *claim_->other());
    }

    void announce(const Plan& plan) const {
        for (const auto& warning : plan.warnings) log_warning("{}", warning);
        if (options_.quiet || options_.no_banner) return;
        write_all(STDOUT_FILENO, configuration_banner(options_, plan));
        for (const auto& greeting : greetings(plan)) {
            log_info("{}", greeting.line);
            write_all(STDOUT_FILENO, distributed_envs_table(greeting.rows));
        }
        log_info("{}", where_logs_are(plan, options_.log_dir));
    }

    int check() {
        if (elastic_)
            throw UsageError(
                "--check does not know the nodes that come to etcd; name them with --ips or --hostfile");
        others_ = meet_for_check(options_, environment_, planner_);
        if (others_.followed) return *others_.followed;
        if (!others_.plan) {
            others_.agents->gather();
            others_.plan = next_plan(1);
        }
        CheckSite site{.plan = *others_.plan,
                       .program = installed("libexec/dtrain/dtrain-check"),
                       .timeout = options_.start_timeout,
                       .environment = environment_};
        if (!others_.agents) return run_check(site);
        auto& agents = *others_.agents;
        site.launchers =
            CheckLaunchers{.is_connected = [&](int node) { return agents.is_connected(node); },
                           .inspect = [&](int node, int port,
                                          const std::string& nonce) { agents.inspect(node, port, nonce); },
                           .fd = agents.fd(),
                           .serve = [&] { agents.serve(); }};
        const int status = run_check(site);
        agents.finish(status, "");
        return status;
    }

    int show_plan() {
        const auto plan = planner_.plan(options_);
        auto [argv, added] = command_for(plan, "", {});
        for (const char* random : {"DTRAIN_JOB_TOKEN", "DTRAIN_RUN_ID", "DTRAIN_GLOO_FS_PATH"})
            added.unset(random);
        const auto text =
            options_.dry_run == PlanForm::json ? to_json(plan, argv, added) : to_table(plan, argv);
        write_all(STDOUT_FILENO, text);
        return 0;
    }

    StartCommand command_for(const Plan& plan, const std::string& token, const StartRequest& order) const {
        StartInfo start{.token = token, .restarts = {}, .run = order.run, .heartbeats = {}};
        if (wants_page()) start.run_record = run_record(plan);
        if (elastic_ || options_.max_restart.value_or(0) > 0) start.restarts = order.restarts;
        if (nodes_send_heartbeats(plan)) start.heartbeats = between_heartbeats;
        if (!is_this_machine(plan) && !environment_.has("DTRAIN_GLOO_FS_PATH"))
            start.gloo_folder = cluster::gloo_folder_of(random_id());
        return start_command(plan, options_, planner_, environment_, given_, start);
    }

    static bool is_this_machine(const Plan& plan) { return plan.nodes.size() == 1 && plan.own_node; }

    /// If mpirun's daemons are started by a remote shell, a node's daemon detects a cut cable by TCP
    /// keepalive, which works only while no data is in flight: heartbeats would keep the connection, and thus
    /// the node's ranks, alive.
    bool nodes_send_heartbeats(const Plan& plan) const {
        if (plan.nodes.size() == 1) return false;
        return by_scheduler() || (others_.agents && !others_.agents->any_by_ssh());
    }

    /// Workers that mpirun has killed hold their folders until they are gone.
    static void wait_for_the_dying(const std::string& token) {
        using namespace std::chrono_literals;
        const auto give_up_at = std::chrono::steady_clock::now() + 1s;
        while (std::chrono::steady_clock::now() < give_up_at) {
            const bool all_gone = processes_with_variable("DTRAIN_JOB_TOKEN", token).empty();
            std::this_thread::sleep_for(20ms);  // a process loses its environment before its files
            if (all_gone) return;
        }
    }

    Watched start(const Plan& plan, std::vector<std::string> hosts, const StartCommand& command,
                  const std::string& token, const elastic::StopTimer* stop) {
        if (!plan.servers) replace_file(plan.log_dir + "/endpoints.log", endpoints_log(plan));
        replace_file(plan.log_dir + "/hostfile", hostfile_text(plan));
        std::optional<TemporaryFolder> gloo_folder;
        if (is_this_machine(plan)) gloo_folder.emplace();
        WatchOptions options{
            .command = command.argv,
            .control = planner_.control(token),
            .environment = planner_.backend().inherited(environment_),
            .size = plan.size(),
            .hosts = std::move(hosts),
            .service_ranks = service_ranks_of(plan),
            .grace = options_.grace,
            .hang_timeout = hang_limit_of(options_).time,
            .only_reports_hangs = !stops_a_job(on_hang_of(options_)),
            .heartbeat_ranks = nodes_send_heartbeats(plan) ? first_ranks_of_nodes(plan) : std::vector<int>{},
            .max_silence = 4 * between_heartbeats,
            .job_token = token,
            .stop_fd = stop != nullptr ? stop->fd() : -1,
            .log_dir = options_.log_dir,
            .status_line = !options_.quiet && !options_.no_banner,
            .control_socket = shown_->control(),
            .metrics = metrics_.get()};
        options.environment.set_all(command.added);
        const auto networks = NetworkQuestions::of_this_machine();
        options.environment.set_all(mpi_address_family(plan.hosts(), environment_, networks));
        if (!by_scheduler())
            options.environment.set_all(mpirun_variables(plan, planner_.machine(), environment_));
        if (!by_scheduler() && plan.nodes.size() > 1)
            options.environment.set_all(
                mpi_network_variables(plan.hosts(), options_.network_interface, environment_, networks));
        if (gloo_folder) cluster::RankContract{.gloo_folder = gloo_folder->path()}.write(options.environment);
        if (others_.agents) {
            options.events = others_.agents->event_source(token);
            options.environment.set_all(others_.agents->for_mpirun(installed("libexec/dtrain/dtrain-rsh")));
        }
        auto ended = watch(options);
        // mpirun does not do so if it is killed, or told to stop while it already ends ranks.
        if (!ended.engine_status.success()) {
            const auto folders = leftover_folders(environment_);
            remove_session(folders, ended.engine_pid);
            wait_for_the_dying(token);
            remove_leftovers(folders);
        }
        return ended;
    }

    Options options_;
    Environment given_;  ///< set for all programs
    Environment environment_;
    std::optional<ElasticSettings> elastic_;
    Planner planner_;
    std::optional<LogFolderClaim> claim_;
    std::optional<RunningJob> shown_;
    std::optional<RunPage> page_;  ///< covers all starts
    Rendezvous others_;
    std::vector<JoinedNode> joined_;  ///< nodes that joined at --master
    std::optional<scrape::ListenAddress> metrics_address_;
    std::unique_ptr<JobMetrics> metrics_;
    std::optional<scrape::Endpoint> metrics_endpoint_;  ///< serves metrics_, which must outlive it
};

}  // namespace

int run_launch(const std::vector<std::string>& arguments, const Environment& environment) {
    if (!arguments.empty() && arguments.front() == "submit")
        return run_submit({arguments.begin() + 1, arguments.end()}, environment);
    if (is_job_command(arguments)) return run_job_command(arguments, environment);
    if (is_compare_command(arguments)) return run_compare_command(arguments);
    if (is_key_command(arguments)) return run_key_command(arguments, environment);
    auto parsed = parse_options(arguments, environment, read_settings(settings_files(environment)));
    if (parsed.text) {
        write_all(STDOUT_FILENO, *parsed.text);
        return 0;
    }
    refuse_submit_options(parsed);
    begin_log(parsed);
    if (const auto command = elastic_command(parsed.options, environment))
        return run_elastic_command(*command, parsed.options);
    if (!parsed.options.check && runs_once_on_cloud(parsed.options, environment))
        return run_once_on_cloud(parsed.options, environment);
    return run_job(std::move(parsed.options), environment);
}

int run_job(Options options, const Environment& environment) {
    const int status = Launch(std::move(options), environment).run();
    // If a signal killed a task, srun drops what it has not yet read when the last task ends
    // (slurm_step_launch_wait_finish), which is what this launcher says of the killed one.
    if (status != 0 && is_slurm_task(environment)) std::this_thread::sleep_for(until_srun_has_read);
    return status;
}

}  // namespace dtrain::launch
