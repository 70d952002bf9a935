// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/nccl_ras.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace dtrain::trace {
namespace {

using nlohmann::json;
using IsOwn = std::function<bool(const NcclProcess&)>;

constexpr std::size_t max_memberships = 24;
constexpr std::size_t max_dead = 8;
constexpr std::size_t max_host = 64;  // an address

bool is_number_of_communicator(std::string_view digits) {
    return !digits.empty() && digits.size() <= 16 &&
           digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// "AllReduce": what stands in a report must not be whatever somebody sends.
bool is_name_of_kind(std::string_view name) {
    constexpr std::size_t max_name = 24;
    return !name.empty() && name.size() <= max_name && std::ranges::all_of(name, [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    });
}

/// Of a kind of operations in a communicator: who has launched how many.
struct ReportedCounts {
    std::uint64_t fewest = UINT64_MAX;
    std::uint64_t most = 0;
    std::optional<std::uint64_t> by_self = {};
    int unnamed = 0;
    std::uint64_t by_unnamed = 0;
    int unnamed_parties = 0;

    void note(std::uint64_t count, bool is_self) {
        fewest = std::min(fewest, count);
        most = std::max(most, count);
        // A process may have several GPUs.
        if (is_self) by_self = std::min(by_self.value_or(count), count);
    }
    bool differs() const { return fewest < most; }
};

struct ReportedCommunicator {
    std::string number = {};
    int size = 0;
    bool has_self = false;
    bool self_has_left = false;
    std::map<std::string, ReportedCounts> kinds = {};
};

bool shows_difference(const NcclMembership& membership) {
    return membership.has_left || !membership.counts.empty();
}

void add_membership(NcclView& view, const ReportedCommunicator& communicator) {
    if (!communicator.has_self) return;
    NcclMembership membership{.communicator = "0x" + communicator.number,
                              .size = communicator.size,
                              .has_left = communicator.self_has_left};
    for (const auto& [kind, launched] : communicator.kinds) {
        if (!launched.by_self || !launched.differs()) continue;
        const bool is_clear = launched.unnamed_parties == 1;
        membership.counts.push_back({.kind = kind,
                                     .launched = *launched.by_self,
                                     .most = launched.most,
                                     .unnamed = is_clear ? launched.unnamed : 0,
                                     .by_unnamed = is_clear ? launched.by_unnamed : 0});
    }
    view.memberships.push_back(std::move(membership));
}

void add_dead(NcclView& view, const NcclProcess& process) {
    if (view.dead.size() < max_dead && process.host.size() <= max_host &&
        std::ranges::find(view.dead, process) == view.dead.end())
        view.dead.push_back(process);
}

NcclView shortened(NcclView view) {
    std::ranges::stable_partition(view.memberships, shows_difference);
    if (view.memberships.size() > max_memberships) view.memberships.resize(max_memberships);
    return view;
}

NcclProcess process_of(const json& rank) {
    return {.host = rank.value("host", ""), .pid = rank.value("pid", 0)};
}

bool is_set(const json& of, const char* name) {
    const auto found = of.find(name);
    return found != of.end() && found->is_boolean() && found->get<bool>();
}

void read_rank(const json& rank, ReportedCommunicator& communicator, NcclView& view, const IsOwn& is_own) {
    const auto process = process_of(rank);
    const bool is_self = is_own(process);
    const auto status = rank.value("status", json::object());
    const bool leaves =
        is_set(status, "finalize_called") || is_set(status, "destroy_flag") || is_set(status, "abort_flag");
    if (is_self) {
        view.self = process;
        communicator.has_self = true;
        communicator.self_has_left = communicator.self_has_left || leaves;
    }
    const auto counts = rank.value("collective_counts", json::object());
    for (const auto& [kind, count] : counts.items())
        if (is_name_of_kind(kind) && count.is_number_unsigned())
            communicator.kinds[kind].note(count.get<std::uint64_t>(), is_self);
}

/// One that did not tell that it is in the communicator: it has left it, or cannot be reached.
void read_missing_rank(const json& rank, ReportedCommunicator& communicator, NcclView& view,
                       const IsOwn& is_own) {
    const auto process = process_of(rank);
    const auto status = rank.value("status", json::object());
    if (is_set(status, "considered_dead")) add_dead(view, process);
    if (!is_own(process)) return;
    view.self = process;
    const bool has_answered = status.contains("unresponsive") && !is_set(status, "unresponsive");
    if (!has_answered) return;
    communicator.has_self = true;
    communicator.self_has_left = true;
}

/// Without what is nested deeper than in any answer.
json parsed(std::string_view text) {
    constexpr int max_depth = 10;
    return json::parse(text, [](int depth, json::parse_event_t, const json&) { return depth <= max_depth; });
}

std::optional<NcclView> read_as_json(std::string_view text, const IsOwn& is_own) {
    try {
        const auto answer = parsed(text);
        NcclView view;
        for (const auto& each : answer.at("communicators")) {
            const auto number = each.at("hash").get<std::string>();
            if (!number.starts_with("0x") || !is_number_of_communicator(number.substr(2))) continue;
            ReportedCommunicator communicator{.number = number.substr(2), .size = each.value("size", 0)};
            for (const auto& rank : each.value("ranks", json::array()))
                read_rank(rank, communicator, view, is_own);
            for (const auto& rank : each.value("missing_ranks", json::array()))
                read_missing_rank(rank, communicator, view, is_own);
            add_membership(view, communicator);
        }
        return view.self.pid == 0 ? std::nullopt : std::optional(std::move(view));
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

/// What stands between two parts of a line, or behind the first one if the second is ""; nothing if it lacks
/// one of them.
std::optional<std::string_view> between(std::string_view line, std::string_view before,
                                        std::string_view after) {
    const auto begin = line.find(before);
    if (begin == std::string_view::npos) return std::nullopt;
    auto rest = line.substr(begin + before.size());
    if (after.empty()) return rest;
    const auto end = rest.find(after);
    return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
}

/// Of "managed by process 4711 on node 10.0.0.1", whatever follows the address.
std::optional<NcclProcess> process_in(std::string_view line, std::string_view before) {
    const auto rest = between(line, before, "");
    const auto pid = parse_int(rest.value_or("").substr(0, rest.value_or("").find(' ')));
    const auto node = between(line, " on node ", "");
    if (!pid || !node) return std::nullopt;
    return NcclProcess{.host = std::string(node->substr(0, node->find(' '))), .pid = *pid};
}

std::vector<std::string> words_of(std::string_view line) {
    auto words = split(line, ' ');
    std::erase(words, "");
    return words;
}

/// Reads the text line by line: a heading says which communicator, a line below it which kind of operations
/// or that ranks have different status, then "3 ranks have launched up to operation 6650" or "Rank 2 has
/// launched up to operation 6649 -- GPU 2 managed by process 4711 on node 10.0.0.1". Below a line of several
/// ranks are their own, if they are few.
class TextReader {
  public:
    explicit TextReader(const IsOwn& is_own) : is_own_(is_own) {}

    std::optional<NcclView> read(std::string_view text) {
        for (const auto& each : split(text, '\n')) take(trimmed(each));
        end_party();
        if (!is_answer_) return std::nullopt;
        for (const auto& communicator : communicators_) add_membership(view_, communicator);
        return view_;
    }

  private:
    /// Ranks of which one line tells the same.
    struct Party {
        std::optional<std::uint64_t> launched = {};
        std::string status = {};
        int ranks = 0;
        int named = 0;
    };

    void take(std::string_view line) {
        if (line.starts_with("NCCL version ")) is_answer_ = true;
        const auto words = words_of(line);
        if (words.size() == 8 && parse_int(words[0]) && parse_int(words[1])) {
            sizes_[words[0]] = parse_int(words[4]).value_or(0);
        } else if (line.starts_with('#')) {
            take_heading(line);
        } else if (words.size() == 1) {
            end_party();
            section_ = line;
        } else if (line.starts_with("Communicator ranks have different ")) {
            end_party();
            const auto kind = between(line, "different ", " operation counts").value_or("");
            kind_ = kind == "collective" ? "operation" : is_name_of_kind(kind) ? kind : "";
        } else if (line.starts_with("Process ")) {
            const auto process = process_in(line, "Process ");
            if (process && section_ == "DEAD") add_dead(view_, *process);
            if (process && is_own_(*process)) view_.self = *process;
        } else if (line.starts_with("Rank ")) {
            take_rank(line);
        } else if (words.size() > 2 && parse_int(words[0]) && words[1] == "ranks") {
            end_party();
            party_ = party_in(line);
            party_.ranks = *parse_int(words[0]);
        }
    }

    /// "#0-0 (27a079b828ff1a75) MISMATCH"
    void take_heading(std::string_view line) {
        end_party();
        section_.clear();
        kind_.clear();
        current_ = nullptr;
        const auto number = between(line, "(", ")").value_or("");
        if (!is_number_of_communicator(number)) return;
        const auto digits = number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
        auto known = std::ranges::find(communicators_, digits, &ReportedCommunicator::number);
        if (known == communicators_.end()) {
            const auto size = sizes_.find(std::string(line.substr(1, line.find('-') - 1)));
            known = communicators_.insert(
                known, {.number = std::string(digits), .size = size == sizes_.end() ? 0 : size->second});
        }
        current_ = &*known;
    }

    static Party party_in(std::string_view line) {
        Party party;
        if (const auto count = between(line, " launched up to operation ", ""))
            party.launched = parse_int<std::uint64_t>(count->substr(0, count->find(' ')));
        else if (line.find(" not launched any operations") != std::string_view::npos)
            party.launched = 0;
        else if (const auto status = between(line, " status ", ""))
            party.status = status->substr(0, status->find(' '));
        return party;
    }

    void take_rank(std::string_view line) {
        auto party = party_in(line);
        const bool is_one_of_several = !party.launched && party.status.empty();
        if (is_one_of_several) {
            party = party_;
            ++party_.named;
        } else {
            end_party();
        }
        const auto process = process_in(line, "managed by process ");
        const bool is_self = process && is_own_(*process);
        if (is_self) view_.self = *process;
        if (current_ == nullptr) return;
        if (is_self) current_->has_self = true;
        if (is_self && (party.status == "NOCOMM" || party.status == "FINALIZE" || party.status == "ABORT"))
            current_->self_has_left = true;
        if (party.launched && !kind_.empty()) current_->kinds[kind_].note(*party.launched, is_self);
    }

    void end_party() {
        const auto party = std::exchange(party_, {});
        if (current_ == nullptr || !party.launched || kind_.empty()) return;
        auto& launched = current_->kinds[kind_];
        launched.note(*party.launched, false);
        if (party.ranks <= party.named) return;
        ++launched.unnamed_parties;
        launched.unnamed = party.ranks - party.named;
        launched.by_unnamed = *party.launched;
    }

    const IsOwn& is_own_;
    NcclView view_;
    bool is_answer_ = false;
    std::map<std::string, int> sizes_;  // of the communicators of a group, by its number
    std::vector<ReportedCommunicator> communicators_;
    ReportedCommunicator* current_ = nullptr;
    std::string section_;
    std::string kind_;
    Party party_;
};

}  // namespace

std::optional<NcclView> read_nccl_ras(std::string_view answer, const IsOwn& is_own) {
    // Lines that answer the commands before stand in front: "SERVER PROTOCOL 2", "OK", "ERROR: ...".
    std::optional<NcclView> view;
    if (const auto begin = answer.find('{'); begin != std::string_view::npos)
        view = read_as_json(answer.substr(begin), is_own);
    else
        view = TextReader(is_own).read(answer);
    return view ? std::optional(shortened(*std::move(view))) : std::nullopt;
}

}  // namespace dtrain::trace
