// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/rank_state.hpp"

#include <algorithm>

#include "base/json_text.hpp"

namespace dtrain::trace {
namespace {

using nlohmann::json;

json json_of(const Operation& operation) {
    return {static_cast<int>(operation.kind),
            operation.group,
            operation.number,
            operation.name,
            operation.type,
            operation.reduction,
            operation.source,
            operation.count ? json(*operation.count) : json(nullptr),
            operation.peer,
            operation.tag,
            operation.has_ended,
            operation.waited ? json(operation.waited->count()) : json(nullptr)};
}

Operation operation_of(const json& fields) {
    Operation operation;
    operation.kind = static_cast<OperationKind>(fields.at(0).get<int>());
    fields.at(1).get_to(operation.group);
    fields.at(2).get_to(operation.number);
    fields.at(3).get_to(operation.name);
    fields.at(4).get_to(operation.type);
    fields.at(5).get_to(operation.reduction);
    fields.at(6).get_to(operation.source);
    if (!fields.at(7).is_null()) operation.count = fields.at(7).get<std::uint64_t>();
    fields.at(8).get_to(operation.peer);
    fields.at(9).get_to(operation.tag);
    fields.at(10).get_to(operation.has_ended);
    if (!fields.at(11).is_null())
        operation.waited = std::chrono::milliseconds(fields.at(11).get<std::int64_t>());
    return operation;
}

json json_of(const std::vector<NcclProcess>& processes) {
    auto out = json::array();
    for (const auto& process : processes) out.push_back({process.host, process.pid});
    return out;
}

json json_of(const NcclView& view) {
    auto memberships = json::array();
    for (const auto& each : view.memberships) {
        auto counts = json::array();
        for (const auto& count : each.counts)
            counts.push_back({count.kind, count.launched, count.most, count.unnamed, count.by_unnamed});
        memberships.push_back({each.communicator, each.size, each.has_left, std::move(counts)});
    }
    return {json_of(std::vector{view.self}), std::move(memberships), json_of(view.dead)};
}

std::vector<NcclProcess> processes_of(const json& fields) {
    std::vector<NcclProcess> processes;
    for (const auto& each : fields)
        processes.push_back({.host = each.at(0).get<std::string>(), .pid = each.at(1).get<int>()});
    return processes;
}

NcclView nccl_view_of(const json& fields) {
    NcclView view{.self = processes_of(fields.at(0)).at(0), .dead = processes_of(fields.at(2))};
    for (const auto& each : fields.at(1)) {
        auto& membership = view.memberships.emplace_back();
        each.at(0).get_to(membership.communicator);
        each.at(1).get_to(membership.size);
        each.at(2).get_to(membership.has_left);
        for (const auto& count : each.at(3))
            membership.counts.push_back({.kind = count.at(0).get<std::string>(),
                                         .launched = count.at(1).get<std::uint64_t>(),
                                         .most = count.at(2).get<std::uint64_t>(),
                                         .unnamed = count.at(3).get<int>(),
                                         .by_unnamed = count.at(4).get<std::uint64_t>()});
    }
    return view;
}

bool leave_out_ended(std::vector<Operation>& operations) {
    const auto ended = std::ranges::find_if(operations, &Operation::has_ended);
    if (ended == operations.end()) return false;
    operations.erase(ended);
    return true;
}

bool leave_out_members(std::vector<Group>& groups) {
    const auto large =
        std::ranges::max_element(groups, {}, [](const Group& group) { return group.members.size(); });
    if (large == groups.end() || large->members.empty()) return false;
    large->members.clear();
    return true;
}

bool leave_out_unused_group(RankState& state) {
    const auto unused = std::ranges::find_if(state.groups, [&](const Group& group) {
        return std::ranges::find(state.operations, group.name, &Operation::group) == state.operations.end();
    });
    if (unused == state.groups.end()) return false;
    state.groups.erase(unused);
    return true;
}

/// Leaves out what tells the least; false if nothing can be left out.
bool shorten(RankState& state) {
    constexpr std::size_t kept_calls = 6;
    constexpr std::size_t kept_operations = 8;
    if (state.stack.size() > kept_calls) {
        state.stack.pop_back();
        return true;
    }
    if (state.operations.size() > kept_operations && leave_out_ended(state.operations)) return true;
    if (leave_out_members(state.groups) || leave_out_unused_group(state) || leave_out_ended(state.operations))
        return true;
    if (!state.nccl.memberships.empty()) {
        state.nccl.memberships.pop_back();
        return true;
    }
    if (state.stack.empty()) return false;
    state.stack.clear();
    return true;
}

}  // namespace

bool any_goes_on(const std::vector<Operation>& operations) {
    return !std::ranges::all_of(operations, &Operation::has_ended);
}

std::string to_json(const RankState& state) {
    auto groups = json::array();
    for (const auto& group : state.groups)
        groups.push_back({group.name, group.last_number, group.size, group.members});
    auto operations = json::array();
    for (const auto& operation : state.operations) operations.push_back(json_of(operation));
    json fields{{"rank", state.rank},
                {"host", state.host},
                {"pid", state.pid},
                {"activity", static_cast<int>(state.activity)},
                {"file", state.file},
                {"held_by", state.held_by},
                {"stack", state.stack},
                {"groups", std::move(groups)},
                {"operations", std::move(operations)}};
    if (!state.nccl.empty()) fields["nccl"] = json_of(state.nccl);
    return fields.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string to_json(RankState state, std::size_t max) {
    for (;;) {
        auto text = to_json(state);
        if (text.size() <= max || !shorten(state)) return text;
    }
}

std::optional<RankState> parse_rank_state(std::string_view text) {
    return read_json(text, [](const json& fields) {
        RankState state;
        fields.at("rank").get_to(state.rank);
        fields.at("host").get_to(state.host);
        fields.at("pid").get_to(state.pid);
        state.activity = static_cast<Activity>(fields.at("activity").get<int>());
        fields.at("file").get_to(state.file);
        state.held_by = fields.value("held_by", "");
        fields.at("stack").get_to(state.stack);
        for (const auto& group : fields.at("groups"))
            state.groups.push_back({.name = group.at(0).get<std::string>(),
                                    .last_number = group.at(1).get<std::uint64_t>(),
                                    .members = group.at(3).get<std::vector<int>>(),
                                    .size = group.at(2).get<int>()});
        for (const auto& operation : fields.at("operations"))
            state.operations.push_back(operation_of(operation));
        if (const auto nccl = fields.find("nccl"); nccl != fields.end()) state.nccl = nccl_view_of(*nccl);
        return state;
    });
}

}  // namespace dtrain::trace
