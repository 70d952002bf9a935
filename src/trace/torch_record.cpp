// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/torch_record.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "trace/recent_operations.hpp"
#include "trace/reported_members.hpp"
#include "trace/stack_reading.hpp"

namespace dtrain::trace {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t max_name = 24;  // names may be hashes

struct NamedType {
    std::string_view in_dump;
    std::string_view name;
};
constexpr std::array names_of_types{NamedType{"Byte", "uint8"},
                                    NamedType{"Char", "int8"},
                                    NamedType{"Short", "int16"},
                                    NamedType{"Int", "int32"},
                                    NamedType{"Long", "int64"},
                                    NamedType{"Half", "float16"},
                                    NamedType{"Float", "float32"},
                                    NamedType{"Double", "float64"},
                                    NamedType{"ComplexHalf", "complex32"},
                                    NamedType{"ComplexFloat", "complex64"},
                                    NamedType{"ComplexDouble", "complex128"}};

std::string type_name(const std::string& in_dump) {
    const auto* const known = std::ranges::find(names_of_types, in_dump, &NamedType::in_dump);
    return known != names_of_types.end() ? std::string(known->name) : lower_case(in_dump);
}

/// As torch reports call it, and the program where it has named it: "default_pg", "pair (group 1)", "group
/// 2".
std::string group_name(const json& name_and_description) {
    const auto name = name_and_description.at(0).get<std::string>().substr(0, max_name);
    auto description = name_and_description.at(1).get<std::string>();
    if (description == "default_pg") return description;
    const bool is_described = !description.empty() && description != "undefined";
    return is_described ? fmt::format("{} (group {})", description, name) : "group " + name;
}

std::optional<std::uint64_t> elements(const json& shapes) {
    std::uint64_t sum = 0;
    for (const auto& shape : shapes) {
        std::uint64_t product = 1;
        for (const auto& length : shape) {
            const auto value = length.get<std::int64_t>();
            if (value < 0) return std::nullopt;
            if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(value), &product))
                return std::nullopt;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    return sum;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// Of what every rank of the group has equally much.
std::optional<std::uint64_t> count_of(const std::string& name, const json& entry) {
    const bool differs = contains(name, "all_to_all") || contains(name, "coalesced") || contains(name, "_v");
    if (differs) return std::nullopt;
    const bool is_of_output = contains(name, "scatter");
    const auto& shapes = entry.at(is_of_output ? "output_sizes" : "input_sizes");
    return shapes.empty() ? std::nullopt : elements(shapes);
}

std::string type_of(const json& entry) {
    for (const auto* const side : {"input_dtypes", "output_dtypes"})
        if (const auto& types = entry.at(side); !types.empty())
            return type_name(types.front().get<std::string>());
    return {};
}

std::vector<std::string> calls_of(const json& frames) {
    std::vector<std::string> calls;
    for (const auto& frame : frames)
        calls.push_back(fmt::format("{} ({}:{})", frame.at("name").get<std::string>(),
                                    frame.at("filename").get<std::string>(), frame.at("line").get<int>()));
    return calls;
}

/// An entry of a dump.
struct DumpEntry {
    std::string group = {};
    std::uint64_t of_group = 0;  ///< number among the group's collectives, or among its messages
    Operation operation = {};
    nanoseconds created{0};
    std::optional<nanoseconds> took = {};
    bool is_of_device = false;  ///< NCCL's: a GPU waits for it, whatever the program's threads do
};

/// "send 0->1", "recv 1<-0" and "recv 1<-?" name ranks of the group.
void read_message(Operation& operation, const std::vector<int>& ranks) {
    const auto words = split(operation.name, ' ');
    operation.name = words.front();
    operation.kind = OperationKind::other;
    if (words.size() != 2) return;
    const auto arrow = words[1].find_first_of("<-");
    const auto peer =
        arrow == std::string::npos ? std::nullopt : parse_int(std::string_view(words[1]).substr(arrow + 2));
    if (peer && *peer >= 0) {
        operation.kind = operation.name == "send" ? OperationKind::send : OperationKind::receive;
        operation.peer = static_cast<std::size_t>(*peer) < ranks.size()
                             ? ranks[static_cast<std::size_t>(*peer)]
                             : static_cast<int>(*peer);
    } else if (operation.name == "recv") {
        operation.kind = OperationKind::receive_any;
    }
}

using Ranks = std::map<std::string, std::vector<int>>;

/// Of each group, by the name that torch gives it.
Ranks ranks_of(const json& dump) {
    Ranks ranks;
    for (const auto& [name, group] : dump.at("pg_config").items())
        ranks[name] = json::parse(group.at("ranks").get<std::string>()).get<std::vector<int>>();
    return ranks;
}

DumpEntry entry_of_dump(const json& fields, const Ranks& ranks_of_groups) {
    const auto title = fields.at("profiling_name").get<std::string>();
    const auto colon = title.find(':');
    const auto back_end = title.substr(0, colon == std::string::npos ? 0 : colon);
    const auto& group = fields.at("process_group");
    const bool is_message = fields.at("is_p2p").get<bool>();
    DumpEntry entry{
        .group = group.at(0).get<std::string>(),
        .of_group = fields.at(is_message ? "p2p_seq_id" : "collective_seq_id").get<std::uint64_t>(),
        .created = nanoseconds(fields.at("time_created_ns").get<std::int64_t>())};
    auto& operation = entry.operation;
    operation.name = colon == std::string::npos ? title : title.substr(colon + 1);
    operation.group = group_name(group);
    operation.type = type_of(fields);
    operation.count = count_of(operation.name, fields);
    operation.reduction = fields.value("reduction", "");
    operation.peer = fields.value("root", -1);
    const auto calls = calls_of(fields.value("frames", json::array()));
    operation.source = program_line(calls);
    entry.is_of_device = contains(back_end, "nccl");
    // gloo's never become "completed"; one of NCCL that is retired without that has timed out.
    operation.has_ended = fields.at("state").get<std::string>() == "completed" ||
                          (!entry.is_of_device && fields.at("retired").get<bool>());
    if (const auto ended = fields.find("time_discovered_completed_ns");
        operation.has_ended && ended != fields.end() && ended->is_number())
        entry.took = nanoseconds(ended->get<std::int64_t>()) - entry.created;
    if (is_message) {
        const auto ranks = ranks_of_groups.find(entry.group);
        read_message(operation, ranks == ranks_of_groups.end() ? std::vector<int>() : ranks->second);
    } else {
        operation.number = entry.of_group;
    }
    return entry;
}

/// The oldest first. torch notes of calls that it makes as one ("coalesced") when all of them end, and not
/// when each does.
std::vector<DumpEntry> entries_of_dump(const json& dump, const Ranks& ranks) {
    std::map<std::tuple<std::string, std::uint64_t, bool>, bool> made_as_one;  // and whether they have ended
    std::vector<DumpEntry> entries;
    const auto& in_dump = dump.at("entries");
    for (auto fields = in_dump.rbegin(); fields != in_dump.rend(); ++fields) {
        auto entry = entry_of_dump(*fields, ranks);
        auto& operation = entry.operation;
        const bool is_message = operation.number == 0;
        const std::tuple key{entry.group, entry.of_group, is_message};
        if (operation.name == "coalesced") {
            made_as_one[key] = operation.has_ended;
            if (is_message) continue;
        } else if (const auto together = made_as_one.find(key); together != made_as_one.end()) {
            if (!is_message) continue;
            operation.has_ended = together->second;
        }
        entries.push_back(std::move(entry));
    }
    std::ranges::reverse(entries);
    return entries;
}

/// Which of the entries the main thread waits for: those that its line began; else what goes on for the
/// longest. GPUs wait for the oldest of each group.
void note_waits(std::vector<DumpEntry>& entries, const std::vector<std::string>& stack, nanoseconds now) {
    const auto note = [&](DumpEntry& entry) {
        const auto since = std::chrono::duration_cast<milliseconds>(now - entry.created);
        entry.operation.waited = std::max(since, milliseconds(0));
    };
    std::set<std::string> noted_groups;
    for (auto& entry : entries)
        if (entry.is_of_device && !entry.operation.has_ended && noted_groups.insert(entry.group).second)
            note(entry);
    if (!waiting_call(stack)) return;
    const auto source = program_line(stack);
    bool noted = !noted_groups.empty();
    for (auto& entry : entries)
        if (!entry.operation.has_ended && entry.operation.source == source) {
            note(entry);
            noted = true;
        }
    const auto oldest =
        std::ranges::find(entries, false, [](const DumpEntry& entry) { return entry.operation.has_ended; });
    if (!noted && oldest != entries.end()) note(*oldest);
}

void add_groups(std::vector<Group>& groups, const std::vector<DumpEntry>& entries, const Ranks& ranks) {
    for (const auto& entry : entries) {
        auto known = std::ranges::find(groups, entry.operation.group, &Group::name);
        if (known == groups.end()) {
            groups.push_back({.name = entry.operation.group});
            known = groups.end() - 1;
            if (const auto members = ranks.find(entry.group); members != ranks.end()) {
                known->size = static_cast<int>(members->second.size());
                known->members = reported_members(members->second);
            }
        }
        known->last_number = std::max(known->last_number, entry.operation.number);
    }
}

/// The call that the main thread is in: a message of gloo is not in the dump, and neither are roots.
void add_waiting(TorchRecord& record, const json& call, const std::vector<std::string>& stack) {
    if (call.is_null()) return;
    const auto name = call.at("name").get<std::string>();
    const auto group = group_name(call.at("process_group"));
    const auto peer = call.at("peer").get<int>();
    const auto is_it = [&](const Operation& operation) {
        return operation.waited && operation.group == group && operation.name == name;
    };
    if (const auto known = std::ranges::find_if(record.operations, is_it); known != record.operations.end()) {
        if (known->peer < 0) known->peer = peer;
    } else if (call.at("is_message").get<bool>()) {
        const auto kind = name == "send" ? OperationKind::send
                          : peer < 0     ? OperationKind::receive_any
                                         : OperationKind::receive;
        record.operations.push_back({.kind = kind,
                                     .group = group,
                                     .name = name,
                                     .type = call.at("type").get<std::string>(),
                                     .source = program_line(stack),
                                     .count = call.at("count").get<std::uint64_t>(),
                                     .peer = peer,
                                     .tag = call.at("tag").get<int>(),
                                     .waited = milliseconds(0)});
    }
}

}  // namespace

std::optional<TorchRecord> read_torch_record(std::string_view text, nanoseconds now) {
    return read_json(text, [&](const json& answer) {
        TorchRecord record{.stacks = answer.at("stacks").get<std::string>(),
                           .recorder = answer.value("recorder", "torch")};
        const auto stack = frames_of_py_spy(record.stacks);
        std::vector<DumpEntry> entries;
        for (const auto& dump : answer.at("dumps")) {
            const auto ranks = ranks_of(dump);
            auto of_dump = entries_of_dump(dump, ranks);
            add_groups(record.groups, of_dump, ranks);
            std::ranges::move(of_dump, std::back_inserter(entries));
        }
        std::ranges::stable_sort(entries, {}, &DumpEntry::created);
        note_waits(entries, stack, now);
        for (const auto& entry : entries)
            record.all.push_back(
                {.operation = entry.operation, .age = now - entry.created, .took = entry.took});
        RecentOperations<std::string> recent;
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
            if (auto& operation = entry->operation; recent.wants(
                    operation.group, operation.kind, !operation.has_ended, operation.waited.has_value()))
                record.operations.push_back(std::move(operation));
        std::ranges::reverse(record.operations);
        add_waiting(record, answer.at("waiting"), stack);
        return record;
    });
}

}  // namespace dtrain::trace
