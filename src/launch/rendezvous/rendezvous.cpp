// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/rendezvous.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "base/interfaces.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/plan/rendezvous_point.hpp"
#include "launch/rendezvous/join_request.hpp"
#include "launch/rendezvous/part.hpp"
#include "launch/rendezvous/ssh_probe.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds time_to_report{3};

/// If node 0 waits for this node, it is told why this one does not join.
void be_refused(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                const Options& options, const Environment& environment) {
    auto briefly = options;
    briefly.start_timeout = time_to_report;
    try {
        follow_start(rendezvous, request, briefly, environment, {});
    } catch (const Error&) {
        // This launcher has an error of its own, which is enough for people on this node.
    }
}

/// With --ips the same command runs on every node, so this machine must be among them.
void refuse_unnamed_machine(const Options& options, const Environment& environment, const Plan& plan) {
    if (plan.own_node || options.hostfile || plan.servers) return;
    be_refused(rendezvous_of(options, plan.hosts()), join_request_of(plan, options, host_name(), 0), options,
               environment);
    throw UsageError(fmt::format(
        "none of this machine's addresses is in --ips {}; name its address there with --host", options.ips));
}

bool may_be_coordinator_at(const RendezvousPoint& rendezvous, const Options& options) {
    return may_be_coordinator(options, rendezvous,
                              own_names(own_addresses(), {rendezvous.coordinator}, addresses_of));
}

Rendezvous meet_at_master(int count, const Options& options, const Environment& environment,
                          const Planner& planner, const std::function<void()>& follows) {
    decide_mode(options);  // refuses options that are not possible here
    const auto rendezvous = rendezvous_at_master(options);
    if (may_be_coordinator_at(rendezvous, options)) {
        auto listener = transport::listen_at(rendezvous.coordinator, rendezvous.port);
        // The first of several launchers on one machine gets the port.
        const bool another_is_coordinator = errno == EADDRINUSE && options.rank.value_or(-1) < 0;
        if (listener.valid())
            return {.agents = std::make_unique<Agents>(std::move(listener), rendezvous, count, options,
                                                       environment)};
        if (!another_is_coordinator) refuse_port(rendezvous, errno);
    }
    const auto request = join_request_of(planner.plan_of_this_machine(options), options, host_name(), count);
    follows();
    if (options.check)
        return {.followed = follow_check(rendezvous, request, options, environment, [] { return false; })};
    return {.followed = follow_coordinator(rendezvous, request, options, environment)};
}

/// Lets node 0's launcher inspect this node, unless it does not answer or this node can reach it by ssh.
std::optional<int> accept_inspection(const Plan& plan, const Options& options,
                                     const Environment& environment) {
    auto patiently = options;
    patiently.start_timeout = std::max(options.start_timeout, Options().start_timeout);
    const auto until = std::chrono::steady_clock::now() + std::min(options.start_timeout, wait_for_check);
    SshProbe ssh(environment);
    return follow_check(
        rendezvous_of(options, plan.hosts()), join_request_of(plan, options, host_name(), 0), patiently,
        environment,
        [&] { return std::chrono::steady_clock::now() >= until || !ssh.reached({0}, plan.hosts()).empty(); });
}

Rendezvous lead(const Plan& plan, const RendezvousPoint& rendezvous, const Options& options,
                const Environment& environment) {
    auto listener = transport::listen_at(rendezvous.coordinator, rendezvous.port);
    if (!listener.valid()) refuse_port(rendezvous, errno);
    return {.agents = std::make_unique<Agents>(std::move(listener), rendezvous, plan, options, environment)};
}

}  // namespace

Rendezvous meet_other_nodes(const Options& options, const Environment& environment, const Planner& planner,
                            const std::function<void()>& follows) {
    if (planner.allocation()) return {};  // a scheduler's nodes are reached through the scheduler
    if (const int count = nodes_at_master(options); count > 0)
        return meet_at_master(count, options, environment, planner, follows);
    auto plan = planner.plan(options);
    if (plan.nodes.size() > 1) refuse_unnamed_machine(options, environment, plan);
    const auto part = part_in(plan, false);
    if (part == Part::alone) return {.plan = std::move(plan)};
    const auto rendezvous = rendezvous_of(options, plan.hosts());
    if (part == Part::coordinator) return lead(plan, rendezvous, options, environment);
    follows();
    return {.followed = follow_coordinator(rendezvous, join_request_of(plan, options, host_name(), 0),
                                           options, environment)};
}

void report_unable(const std::string& reason, const Options& options, const Environment& environment,
                   const Planner& planner) {
    if (planner.allocation()) return;
    const int count = nodes_at_master(options);
    const auto plan = count > 0 ? planner.plan_of_this_machine(options) : planner.plan(options);
    const auto rendezvous = count > 0 ? rendezvous_at_master(options) : rendezvous_of(options, plan.hosts());
    const bool waits_elsewhere =
        count > 0 ? !may_be_coordinator_at(rendezvous, options) : part_in(plan, false) == Part::agent;
    if (!waits_elsewhere) return;
    auto request = join_request_of(plan, options, host_name(), count);
    request.unable = reason;
    be_refused(rendezvous, request, options, environment);
}

Rendezvous meet_for_check(const Options& options, const Environment& environment, const Planner& planner) {
    if (!planner.allocation() && nodes_at_master(options) > 0)
        return meet_at_master(nodes_at_master(options), options, environment, planner, [] {});
    auto plan = planner.plan(options);
    const auto part = part_in(plan, planner.allocation().has_value());
    if (part == Part::alone) return {.plan = std::move(plan)};
    if (part == Part::agent) {
        if (const auto status = accept_inspection(plan, options, environment)) return {.followed = status};
        return {.plan = std::move(plan)};
    }
    const auto rendezvous = rendezvous_of(options, plan.hosts());
    auto listener = transport::listen_at(rendezvous.coordinator, rendezvous.port);
    if (!listener.valid()) return {.plan = std::move(plan)};  // port taken: a job of this name runs here
    Rendezvous out{.agents =
                       std::make_unique<Agents>(std::move(listener), rendezvous, plan, options, environment)};
    out.agents->gather_for_check();
    out.plan = out.agents->start(std::move(plan));
    return out;
}

Rendezvous lead_start(const Options& options, const Environment& environment, const Planner& planner) {
    auto plan = planner.plan(options);
    if (plan.nodes.size() == 1) return {.plan = std::move(plan)};
    auto out = lead(plan, rendezvous_of(options, plan.hosts()), options, environment);
    out.agents->ignore_refused_launchers();
    return out;
}

transport::Followed follow_start(const Options& options, const Environment& environment,
                                 const Planner& planner, const Leaving& leaving) {
    const auto plan = planner.plan(options);
    return follow_start(rendezvous_of(options, plan.hosts()), join_request_of(plan, options, host_name(), 0),
                        options, environment, leaving);
}

}  // namespace dtrain::launch
