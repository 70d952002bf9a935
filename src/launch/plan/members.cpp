// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/members.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"

namespace dtrain::launch {
namespace {

constexpr int max_members = 65536;

std::vector<MemberAddress> listed(const std::string& list, const char* option) {
    std::vector<MemberAddress> out;
    for (const auto& part : split(list, ',')) {
        if (trimmed(part).empty())
            throw UsageError(fmt::format("{} {}: an address is missing between the commas", option, list));
        const auto address = cluster::parse_address_of(option, list, part);
        out.push_back({.host = address.host, .port = address.port, .own_choice = address.port.has_value()});
    }
    return out;
}

int count_of(const std::string& text, const std::string& whole) {
    const auto number = parse_int(trimmed(text));
    if (!number || *number < 1 || *number > max_members)
        throw UsageError(
            fmt::format("--heter_worker_num {}: \"{}\" is no number of workers; write 2, or 2;1 "
                        "for two stages",
                        whole, text));
    return *number;
}

std::vector<MemberAddress> spread(int count, const std::vector<std::string>& hosts) {
    std::vector<MemberAddress> out;
    for (std::size_t member = 0; member < static_cast<std::size_t>(count); ++member)
        out.push_back({.host = hosts[member % hosts.size()]});
    return out;
}

/// The members given by a number, a list, or both, which must agree.
std::vector<MemberAddress> members(std::optional<int> number, const std::string& list,
                                   const char* number_option, const char* list_option,
                                   const std::vector<std::string>& hosts) {
    if (number && *number == 0)
        throw UsageError(fmt::format("{} 0: a parameter-server job needs at least one", number_option));
    if (list.empty()) return spread(number.value_or(0), hosts);
    auto out = listed(list, list_option);
    if (number && *number != static_cast<int>(out.size()))
        throw UsageError(fmt::format("{} {}, but {} {} has {}; leave out one of them", number_option, *number,
                                     list_option, list, out.size()));
    return out;
}

std::vector<StageMembers> stages_of(const Options& options, const std::vector<std::string>& hosts) {
    std::vector<StageMembers> out;
    if (!options.heter_workers.empty())
        for (const auto& stage : split(options.heter_workers, ';'))
            out.push_back({.members = listed(stage, "--heter_workers")});
    if (!options.heter_worker_num.empty()) {
        const auto numbers = split(options.heter_worker_num, ';');
        if (!out.empty() && out.size() != numbers.size())
            throw UsageError(fmt::format("--heter_worker_num {} has {} stages, but --heter_workers has {}",
                                         options.heter_worker_num, numbers.size(), out.size()));
        for (std::size_t stage = 0; stage < numbers.size(); ++stage) {
            const int count = count_of(numbers[stage], options.heter_worker_num);
            if (options.heter_workers.empty())
                out.push_back({.members = spread(count, hosts)});
            else if (static_cast<std::size_t>(count) != out[stage].members.size())
                throw UsageError(fmt::format("--heter_worker_num {}: stage {} has {} in --heter_workers",
                                             options.heter_worker_num, stage + 2, out[stage].members.size()));
        }
    }
    const auto devices = options.heter_devices.empty() ? std::vector<std::string>(out.size(), "gpu")
                                                       : split(options.heter_devices, ';');
    if (devices.size() != out.size())
        throw UsageError(fmt::format("--heter_devices {} names {} devices for {} stages; separate them by ;",
                                     options.heter_devices, devices.size(), out.size()));
    for (std::size_t stage = 0; stage < out.size(); ++stage) {
        const auto device = choice_of<Device::Kind>(trimmed(devices[stage]));
        if (!device)
            throw UsageError(
                fmt::format("--heter_devices {}: \"{}\" is not gpu or cpu; dtrain drives NVIDIA "
                            "GPUs and CPUs",
                            options.heter_devices, devices[stage]));
        out[stage].device = *device;
    }
    return out;
}

/// Addresses given by the user, each with its option.
class WrittenAddresses {
  public:
    void add(std::string_view option, const std::string& host, std::optional<int> port) {
        if (!port) return;
        const auto [known, added] = option_of_.emplace(std::pair(host, *port), option);
        if (added) return;
        const auto address = cluster::format_address(host, *port);
        throw UsageError(
            known->second == option
                ? fmt::format("{}: {} is there twice; give each member a port of its own", option, address)
                : fmt::format("{} is twice in the job, in {} and {}; give each member a port of its own",
                              address, known->second, option));
    }

  private:
    std::map<std::pair<std::string, int>, std::string_view> option_of_;
};

void refuse_repeated(const ServerJobMembers& job, std::optional<int> http_port) {
    WrittenAddresses written;
    for (const auto& member : job.servers) written.add("--servers", member.host, member.port);
    for (const auto& member : job.workers) written.add("--workers", member.host, member.port);
    for (const auto& stage : job.stages)
        for (const auto& member : stage.members) written.add("--heter_workers", member.host, member.port);
    if (!http_port || job.servers.empty()) return;
    const auto option = fmt::format("--http_port {}", *http_port);
    written.add(option, job.servers.front().host, http_port);
}

/// @param http_port already taken on the first server's host
void assign_ports(const std::vector<MemberAddress*>& all, int first_port, std::optional<int> http_port) {
    std::set<std::pair<std::string, int>> taken;
    for (const auto* member : all)
        if (member->port) taken.emplace(member->host, *member->port);
    if (http_port && !all.empty()) taken.emplace(all.front()->host, *http_port);
    int port = first_port;
    for (auto* member : all) {
        const int mine = port++;
        if (member->port) continue;
        member->port = mine;
        while (!taken.emplace(member->host, *member->port).second) member->port = port++;
        (void)cluster::format_address(member->host, *member->port);  // throws if it is not a valid port
    }
}

}  // namespace

std::vector<MemberAddress*> in_rank_order(ServerJobMembers& members) {
    std::vector<MemberAddress*> out;
    for (auto& member : members.servers) out.push_back(&member);
    for (auto& member : members.workers) out.push_back(&member);
    for (auto& stage : members.stages)
        for (auto& member : stage.members) out.push_back(&member);
    return out;
}

std::vector<std::string> hosts_of_lists(const Options& options) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& list, const char* option) {
        if (list.empty()) return;
        for (const auto& member : listed(list, option))
            if (std::find(out.begin(), out.end(), member.host) == out.end()) out.push_back(member.host);
    };
    add(options.servers, "--servers");
    add(options.workers, "--workers");
    for (const auto& stage : split(options.heter_workers, ';')) add(stage, "--heter_workers");
    return out;
}

std::optional<NumberWithoutList> number_without_list(const Options& options) {
    if (options.server_num && options.servers.empty())
        return NumberWithoutList{fmt::format("--server_num {}", *options.server_num), "--servers"};
    if (options.worker_num && options.workers.empty())
        return NumberWithoutList{fmt::format("--worker_num {}", *options.worker_num), "--workers"};
    if (!options.heter_worker_num.empty() && options.heter_workers.empty())
        return NumberWithoutList{fmt::format("--heter_worker_num {}", options.heter_worker_num),
                                 "--heter_workers"};
    return std::nullopt;
}

ServerJobMembers joined_members(const Options& options, int first_port,
                                const std::vector<JoinedNode>& nodes) {
    ServerJobMembers job;
    for (std::size_t node = 0; node < nodes.size(); ++node)
        for (int rank = 0; rank < nodes[node].ranks; ++rank)
            (rank < nodes[node].servers ? job.servers : job.workers)
                .push_back({.host = nodes[node].host, .node = node});
    assign_ports(in_rank_order(job), first_port, options.http_port);
    return job;
}

ServerJobMembers server_job_members(const Options& options, int first_port,
                                    const std::vector<std::string>& hosts) {
    ServerJobMembers job{
        .servers = members(options.server_num, options.servers, "--server_num", "--servers", hosts),
        .workers = members(options.worker_num, options.workers, "--worker_num", "--workers", hosts),
        .stages = stages_of(options, hosts),
        .one_machine = hosts == std::vector<std::string>{this_machine} && options.servers.empty() &&
                       options.workers.empty() && options.heter_workers.empty()};
    refuse_repeated(job, options.http_port);
    // Free ports are better than computed ones, and possible on a single machine.
    if (!job.one_machine || options.start_port)
        assign_ports(in_rank_order(job), first_port, options.http_port);
    return job;
}

}  // namespace dtrain::launch
