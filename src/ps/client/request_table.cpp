// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/request_table.hpp"

#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {

std::uint64_t RequestTable::open(int server, MessageKind kind) {
    requests_[++last_] = {.server = server, .kind = kind};
    return last_;
}

bool RequestTable::is_open(std::uint64_t request, MessageKind kind) const {
    const auto found = requests_.find(request);
    return found != requests_.end() && found->second.kind == kind;
}

// Callers keep references to answers, so an answer may be changed only once, by its own message.
void RequestTable::check(int server, const MessageHeader& answer) const {
    const auto found = requests_.find(answer.request);
    if (found == requests_.end() || found->second.server != server)
        throw MessageError(
            fmt::format("server {} answers request {}, which it was not asked", server, answer.request));
    const auto& asked = found->second;
    if (asked.answer)
        throw MessageError(fmt::format("server {} answers the '{}' of request {} twice", server,
                                       to_string(asked.kind), answer.request));
    if (!is_answer(answer.kind, asked.kind))
        throw MessageError(fmt::format("server {} answers the '{}' of request {} with '{}'", server,
                                       to_string(asked.kind), answer.request, to_string(answer.kind)));
}

std::optional<comm::MessageBytes> RequestTable::record(const MessageHeader& header,
                                                       comm::MessageBytes&& answer) {
    const auto found = requests_.find(header.request);
    auto& request = found->second;
    if (header.kind == MessageKind::applied || request.takers == 0) {
        requests_.erase(found);
        return std::move(answer);
    }
    if (header.kind == MessageKind::saving) {
        request.is_begun = true;
        return std::move(answer);
    }
    request.answer = std::move(answer);
    return std::nullopt;
}

bool RequestTable::has_come(std::uint64_t request) const {
    const auto found = requests_.find(request);
    return found == requests_.end() || found->second.answer.has_value();
}

std::optional<comm::MessageBytes> RequestTable::forget(std::uint64_t request) {
    const auto found = requests_.find(request);
    if (found == requests_.end()) return std::nullopt;
    auto& known = found->second;
    if (--known.takers > 0 || !known.answer) return std::nullopt;
    auto answer = std::move(known.answer);
    requests_.erase(found);
    return answer;
}

}  // namespace dtrain::ps
