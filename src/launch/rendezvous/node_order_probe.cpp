// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/node_order_probe.hpp"

#include <utility>
#include <variant>

#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "launch/plan/rendezvous_point.hpp"
#include "launch/rendezvous/join_request.hpp"
#include "transport/key_file.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::milliseconds between_questions{1'000};
constexpr std::chrono::milliseconds time_to_connect{200};

transport::AgentOptions question_of(const Options& options, const Plan& plan,
                                    const Environment& environment) {
    auto request = join_request_of(plan, options, host_name(), 0);
    request.leads = true;
    return {.coordinator = {},
            .port = 0,
            .key = transport::read_or_make_key(transport::key_file(environment)),
            .request = std::move(request),
            .environment = {},
            .accepted = {},
            .write_final_line = {},
            .must_leave = {},
            .on_stop = {},
            .holder = {}};
}

}  // namespace

NodeOrderProbe::NodeOrderProbe(const Options& options, const Plan& plan, const Environment& environment)
    : options_(options), hosts_(plan.hosts()), question_(question_of(options, plan, environment)) {}

std::optional<std::string> NodeOrderProbe::complaint(const std::vector<int>& absent) {
    try {
        if (asking_) {
            asking_->reactor().serve();
            if (!asking_->lost().empty()) asking_.reset();
        } else if (!absent.empty() && Clock::now() >= next_at_) {
            next_at_ = Clock::now() + between_questions;
            ask(hosts_[static_cast<std::size_t>(absent[asked_++ % absent.size()])]);
        }
    } catch (const transport::CoordinatorRefuses& refusal) {
        asking_.reset();
        return refusal.what();
    } catch (const UsageError&) {
        asking_.reset();  // another key, or an unknown name: reported elsewhere
    }
    return std::nullopt;
}

void NodeOrderProbe::ask(const std::string& host) {
    const auto rendezvous = rendezvous_of(options_, {host});
    question_.coordinator = rendezvous.coordinator;
    question_.port = rendezvous.port;
    auto connected = transport::connect_to(rendezvous.coordinator, rendezvous.port, time_to_connect);
    if (auto* socket = std::get_if<FileDescriptor>(&connected))
        asking_ = std::make_unique<transport::Following>(question_, std::move(*socket));
}

}  // namespace dtrain::launch
