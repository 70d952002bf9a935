// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/agents.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <sys/resource.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exit_status.hpp"
#include "base/host.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/rendezvous/join_request.hpp"
#include "launch/rendezvous/node_order_probe.hpp"
#include "launch/rendezvous/ssh_probe.hpp"
#include "transport/key_file.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds between_complaints{15'000};
constexpr milliseconds time_between_polls{100};
constexpr milliseconds ssh_delay{5'000};  // launchers that are started together have joined by then
constexpr milliseconds before_check_complains{2'000};
constexpr std::size_t named_at_once = 8;

/// Raises the limit: one descriptor is needed for each agent and each remote shell, and a few more.
void allow_many_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// The other launcher may keep looking for its coordinator; it is not a fault of this job.
const transport::Refused other_purpose{.reason = "one of the two is --check, the other a job",
                                       .of_another_job = true};

std::string in_brackets(const std::string& text) {
    return text.empty() ? "" : fmt::format(" ({})", text);
}

}  // namespace

Agents::Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, const Plan& plan,
               const Options& options, const Environment& environment)
    : options_(options),
      environment_(environment),
      rendezvous_(rendezvous),
      count_(static_cast<int>(plan.nodes.size())),
      hosts_(plan.hosts()),
      named_(true),
      plan_(plan) {
    serve(std::move(listener),
          [this](const transport::JoinRequest& request) { return admit_named(request, plan_); });
}

Agents::Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, int count, const Options& options,
               const Environment& environment)
    : options_(options), environment_(environment), rendezvous_(rendezvous), count_(count), named_(false) {
    serve(std::move(listener),
          [this](const transport::JoinRequest& request) { return admit_at_master(request); });
}

void Agents::serve(FileDescriptor listener, Admit admit) {
    allow_many_descriptors();
    coordinator_ = std::make_unique<transport::Coordinator>(transport::Coordinator::Options{
        .listener = std::move(listener),
        .key = transport::read_or_make_key(transport::key_file(environment_)),
        .name = rendezvous_.coordinator,
        .admit =
            [this, admit = std::move(admit)](const transport::JoinRequest& request) {
                return request.check == options_.check || request.leads ? admit(request)
                                                                        : transport::Admission(other_purpose);
            },
        .arrived = [this](int node) { accept_late(node); }});
    coordinator_->serve_remote_shells(remote_shell_socket());
}

Agents::~Agents() {
    if (!finished_ && coordinator_) finish(status_failed, "node 0 gave up");
}

std::string Agents::remote_shell_socket() const {
    return folder_.path() + "/rsh";
}

transport::Admission Agents::admit_at_master(const transport::JoinRequest& request) const {
    std::map<int, std::optional<int>> wanted;
    for (int node = 1; node < count_; ++node)
        if (coordinator_->is_connected(node)) wanted[node] = coordinator_->join_request_of(node).wanted_node;
    return launch::admit_at_master(request, count_, decide_mode(options_), wanted);
}

std::vector<int> Agents::missing() const {
    std::vector<int> out;
    for (int node = 1; node < count_; ++node)
        if (!coordinator_->is_connected(node) && !by_ssh_.contains(node)) out.push_back(node);
    return out;
}

/// "nodes 1 (10.0.0.2), 2 (10.0.0.3)", or how many are missing if their hosts are not known yet.
std::string Agents::names_of(const std::vector<int>& nodes) const {
    if (hosts_.empty()) return fmt::format("{} of {} nodes", nodes.size(), count_);
    std::vector<std::string> names;
    for (const int node : nodes) {
        if (names.size() == named_at_once) {
            names.push_back(fmt::format("{} more", nodes.size() - named_at_once));
            break;
        }
        names.push_back(fmt::format("{} ({})", node, hosts_[static_cast<std::size_t>(node)]));
    }
    return fmt::format("node{} {}", nodes.size() == 1 ? "" : "s", join(names, ", "));
}

void Agents::accept_late(int node) {
    if (!started_) return;
    auto accepted = accepted_of(plan_, node);
    accepted.by_ssh = by_ssh_.contains(node);
    if (const auto own = own_command(coordinator_->join_request_of(node), plan_); own && accepted.by_ssh)
        log_warning("{} runs node 0's command: it was started over ssh before its launcher came, {}",
                    names_of({node}), *own);
    coordinator_->send(node, accepted);
}

void Agents::give_up(const std::string& text) {
    finish(status_usage, text);
    throw UsageError(text);
}

bool Agents::start_without(const std::vector<int>& absent, const std::string& complaint) {
    const auto text =
        fmt::format("{} did not come within {} s", names_of(absent), seconds_text(options_.start_timeout));
    if (refusals_are_fatal_) give_up(text + "; start the same command there" + in_brackets(complaint));
    log_warning("{}; going on without {} anew{}", text,
                absent.size() == 1 ? "it until it comes" : "them until they come", in_brackets(complaint));
    absent_ = absent;
    return false;
}

bool Agents::gather(const std::function<bool()>& must_leave) {
    if (std::exchange(started_, false))
        coordinator_->take_refusal();  // a launcher that came while the job ran
    const auto begin = Clock::now();
    auto complain_at = begin + between_complaints;
    SshProbe ssh(environment_);
    std::optional<NodeOrderProbe> order;
    if (named_ && refusals_are_fatal_) order.emplace(options_, plan_, environment_);
    for (auto absent = missing(); !absent.empty(); absent = missing()) {
        coordinator_->reactor().wait(time_between_polls);
        if (must_leave()) return false;
        if (const auto refusal = coordinator_->take_refusal()) {
            const auto text = "a node cannot take part: " + *refusal;
            if (refusals_are_fatal_) give_up(text);
            log_warning("{}", text);
        }
        absent = missing();
        const auto now = Clock::now();
        if (order && now - begin >= ssh_delay)
            if (const auto complaint = order->complaint(absent)) give_up(*complaint);
        if (named_ && now - begin >= ssh_delay)
            for (const int node : ssh.reached(absent, hosts_)) by_ssh_.insert(node);
        if (!absent.empty() && now - begin >= options_.start_timeout)
            return start_without(absent, ssh.complaint_about(absent.front()));
        if (absent.empty() || now < complain_at) continue;
        log_warning("waiting for {} at port {}; start the same command there", names_of(absent),
                    rendezvous_.port);
        complain_at += between_complaints;
    }
    return true;
}

void Agents::gather_for_check() {
    const auto begin = Clock::now();
    const auto limit = std::min(options_.start_timeout, wait_for_check);
    bool complained = false;
    SshProbe ssh(environment_);
    for (auto absent = missing(); !absent.empty(); absent = missing()) {
        coordinator_->reactor().wait(time_between_polls);
        if (const auto refusal = coordinator_->take_refusal())
            give_up("a node cannot take part: " + *refusal);
        absent = missing();
        for (const int node : ssh.reached(absent, hosts_)) by_ssh_.insert(node);
        const auto waited = Clock::now() - begin;
        if (waited >= limit) return;
        if (absent.empty() || complained || waited < before_check_complains) continue;
        complained = true;
        log_warning("waiting for {}, not reached by ssh{}; start the same command there, within {} s",
                    names_of(absent), in_brackets(ssh.complaint_about(absent.front())), seconds_text(limit));
    }
}

void Agents::inspect(int node, int port, const std::string& nonce) {
    coordinator_->send(node, transport::CheckCall{.port = port, .nonce = nonce});
}

std::vector<JoinedNode> Agents::joined(const Plan& own_part) {
    if (named_) return {};
    std::vector<std::optional<int>> wanted(static_cast<std::size_t>(count_));
    for (int node = 1; node < count_; ++node)
        wanted[static_cast<std::size_t>(node)] = coordinator_->join_request_of(node).wanted_node;
    if (hosts_.empty()) coordinator_->renumber(numbered(wanted));  // a node that rejoined keeps its number
    const auto coordinator = options_.host.value_or(rendezvous_.coordinator);
    const auto own = own_addresses();
    std::vector<JoinedNode> out{
        {.host = coordinator,
         .ranks = own_part.size(),
         .servers = own_part.servers ? static_cast<int>(own_part.servers->servers.size()) : 0}};
    for (int node = 1; node < count_; ++node) {
        const auto& request = coordinator_->join_request_of(node);
        const auto& peer = coordinator_->peer_of(node);
        const bool is_local =
            is_loopback(peer) || own.contains(peer);  // mpirun must know a machine by one name only
        const auto& host = is_local ? coordinator : peer;
        out.push_back({.host = request.address.empty() ? host : request.address,
                       .ranks = static_cast<int>(request.ranks.size()),
                       .servers = request.servers.value_or(0)});
    }
    return out;
}

Plan Agents::start(Plan plan) {
    plan_ = std::move(plan);
    hosts_ = plan_.hosts();
    started_ = true;
    std::map<int, transport::JoinRequest> requests;
    for (int node = 1; node < count_; ++node) {
        if (!coordinator_->is_connected(node)) continue;
        by_ssh_.erase(node);
        requests[node] = coordinator_->join_request_of(node);
        coordinator_->send(node, accepted_of(plan_, node));
    }
    if (!by_ssh_.empty()) log_info("{} reached by ssh", names_of({by_ssh_.begin(), by_ssh_.end()}));
    if (requests.size() + 1 == plan_.nodes.size()) std::erase(plan_.warnings, others_are_alike);
    plan_ = with_info(std::move(plan_), requests);
    plan_.followed = !requests.empty();
    const auto own = options_.check ? std::nullopt : own_commands(requests, plan_);
    if (own && !std::exchange(reported_commands_, true)) log_info("{}", *own);
    return plan_;
}

Environment Agents::for_mpirun(const std::string& remote_shell) const {
    // Each Open MPI version reads its own variables. mpirun must start a daemon on every node itself, without
    // waiting for one remote shell to end before it starts the next. Inside a batch job it would otherwise
    // start its daemons through the scheduler, and on the scheduler's nodes only.
    const auto nodes = std::to_string(count_);
    return {{"DTRAIN_AGENT_SOCKET", remote_shell_socket()},
            {"OMPI_MCA_plm", "rsh"},
            {"OMPI_MCA_plm_rsh_agent", remote_shell},
            {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
            {"OMPI_MCA_plm_rsh_num_concurrent", nodes},
            {"OMPI_MCA_ras", "^slurm,tm,gridengine,lsf,alps"},
            {"PRTE_MCA_plm", "ssh"},
            {"PRTE_MCA_plm_ssh_agent", remote_shell},
            {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
            {"PRTE_MCA_plm_ssh_num_concurrent", nodes},
            {"PRTE_MCA_ras", no_allocation_of_mpirun_5}};
}

EventSource Agents::event_source(const std::string& job_token) {
    coordinator_->begin_run({.job_token = job_token, .grace = options_.grace}, mpirun_names(plan_), hosts_);
    return {.fd = coordinator_->reactor().fd(),
            .serve = [this] { coordinator_->reactor().serve(); },
            .asked_to_stop_by = [this] { return coordinator_->asked_to_stop_by(); },
            .lost = [this] { return first_lost(); }};
}

std::optional<LostNode> Agents::first_lost() const {
    for (const auto& [node, reason] : coordinator_->lost())
        if (const auto& ranks = plan_.nodes[static_cast<std::size_t>(node)].ranks; !ranks.empty())
            return LostNode{.rank = ranks.front().rank, .reason = "its launcher: " + reason};
    return std::nullopt;
}

std::set<std::size_t> Agents::lost_nodes() const {
    std::set<std::size_t> out;
    for (const auto& [node, reason] : coordinator_->lost()) out.insert(static_cast<std::size_t>(node));
    return out;
}

bool Agents::end_log(int node, const std::string& log, const std::string& line) {
    if (node == 0 || by_ssh_.contains(node) || !coordinator_->is_connected(node)) return false;
    coordinator_->send(
        node, transport::FinalLine{.log = std::filesystem::path(log).filename().string(), .line = line});
    return true;
}

void Agents::finish(int status, const std::string& text) {
    finished_ = true;
    coordinator_->end({.status = status, .text = text});
}

}  // namespace dtrain::launch
