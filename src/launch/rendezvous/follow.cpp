// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/follow.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/log_files.hpp"
#include "base/ports.hpp"
#include "base/subprocess.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/plan/program.hpp"
#include "launch/rendezvous/join_request.hpp"
#include "protocol/rank_contract.hpp"
#include "transport/key_file.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;

bool is_name_of_log(const fs::path& name) {
    return name.has_filename() && name == name.filename() && name.string().find("log.") != std::string::npos;
}

/// Who may own the port of node 0, if it is not a launcher.
std::string port_holder(const RendezvousPoint& rendezvous) {
    const bool is_local = is_loopback(rendezvous.coordinator) ||
                          own_names(own_addresses(), {rendezvous.coordinator}, dtrain::addresses_of)
                              .contains(rendezvous.coordinator);
    if (!is_local)
        return fmt::format(" (on {} \"ss -ltnp sport = :{}\" tells which)", rendezvous.coordinator,
                           rendezvous.port);
    const auto holder = holder_of_port(rendezvous.port);
    return holder.empty() ? "" : " (" + holder + ")";
}

/// A node's ranks execute the command typed there, as with Paddle and torchrun, not node 0's command.
cluster::RankContract own_contract(const std::string& log_folder, const Options& options,
                                   const Environment& environment) {
    cluster::RankContract contract{.node_log_folder = log_folder};
    if (options.check) return contract;
    contract.node_program = program_of(options, environment);
    contract.node_working_folder = fs::current_path().string();
    return contract;
}

transport::AgentOptions agent_options(const RendezvousPoint& rendezvous,
                                      const transport::JoinRequest& request, const Options& options,
                                      const Environment& environment) {
    auto for_daemon = environment;
    if (!request.unable) own_contract(request.log_dir, options, environment).write(for_daemon);
    const auto log_dir = request.log_dir;
    return {.coordinator = rendezvous.coordinator,
            .port = rendezvous.port,
            .key = transport::read_or_make_key(transport::key_file(environment)),
            .request = request,
            .environment = for_daemon,
            .timeout = options.start_timeout,
            .accepted =
                [log_dir](const transport::Accepted& accepted) {
                    log_info("{}; logs in {}", part_text(accepted), log_dir);
                },
            .write_final_line =
                [log_dir](const transport::FinalLine& final) {
                    if (is_name_of_log(final.log)) append_line(fs::path(log_dir) / final.log, final.line);
                },
            .must_leave = {},
            .on_stop = {},
            .holder = [rendezvous] { return port_holder(rendezvous); }};
}

/// Runs the inspection program that is installed on this machine.
class MachineInspection {
  public:
    MachineInspection(std::string coordinator, const Environment& environment)
        : coordinator_(std::move(coordinator)), environment_(environment) {}

    void accepted(const transport::Accepted& accepted) {
        node_ = accepted.node;
        log_info("node {} of {}; node 0 ({}) prints what is found", accepted.node, accepted.nodes,
                 coordinator_);
    }

    void begin(const transport::CheckCall& call) {
        process_ = std::make_unique<Subprocess>(
            ProcessOptions{.argv = {installed("libexec/dtrain/dtrain-check"), "--call", coordinator_,
                                    std::to_string(call.port), call.nonce, std::to_string(node_)},
                           .environment = environment_,
                           .pipe_output = false,
                           .parent_death_signal = SIGTERM});
    }

  private:
    std::string coordinator_;
    const Environment& environment_;
    int node_ = 0;
    std::unique_ptr<Subprocess> process_;
};

int report_end(const transport::Followed& followed, const char* otherwise) {
    if (followed.status != 0)
        write_all(STDERR_FILENO,
                  fmt::format("dtrain-launch: {}\n", followed.text.empty() ? otherwise : followed.text));
    return followed.status;
}

}  // namespace

std::optional<int> follow_check(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                                const Options& options, const Environment& environment,
                                const std::function<bool()>& must_leave) {
    MachineInspection inspection(rendezvous.coordinator, environment);
    auto agent = agent_options(rendezvous, request, options, environment);
    agent.accepted = [&](const transport::Accepted& accepted) { inspection.accepted(accepted); };
    agent.check = [&](const transport::CheckCall& call) { inspection.begin(call); };
    agent.must_leave = must_leave;
    const auto followed = transport::follow(agent);
    if (followed.left) return std::nullopt;
    return report_end(followed, "the check found faults; node 0 shows them");
}

int follow_coordinator(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                       const Options& options, const Environment& environment) {
    const auto agent = agent_options(rendezvous, request, options, environment);
    log_info("waiting for node 0 ({} port {}), which starts the job", rendezvous.coordinator,
             rendezvous.port);
    return report_end(transport::follow(agent), "the job failed; node 0 tells why");
}

transport::Followed follow_start(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                                 const Options& options, const Environment& environment,
                                 const Leaving& leaving) {
    auto agent = agent_options(rendezvous, request, options, environment);
    agent.must_leave = leaving.must_leave;
    agent.on_stop = leaving.on_signal;
    return transport::follow(agent);
}

}  // namespace dtrain::launch
