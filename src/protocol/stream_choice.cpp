// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/stream_choice.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

std::optional<StreamChoice::Streams> streams_of(const std::string& digit) {
    const auto number = digit.size() == 1 ? parse_int(digit) : std::nullopt;
    if (!number || *number > 3) return std::nullopt;
    return StreamChoice::Streams{.out = (*number & 1) != 0, .err = (*number & 2) != 0};
}

int number_of(StreamChoice::Streams streams) {
    return (streams.out ? 1 : 0) + (streams.err ? 2 : 0);
}

}  // namespace

StreamChoice StreamChoice::parse(const std::string& text) {
    StreamChoice out;
    if (const auto streams = streams_of(text)) {
        out.of_all_ = *streams;
        return out;
    }
    for (const auto& part : split(text, ',')) {
        const auto colon = part.find(':');
        const auto rank = parse_int(part.substr(0, colon));
        const auto streams = colon == std::string::npos ? std::nullopt : streams_of(part.substr(colon + 1));
        if (!rank || *rank < 0 || !streams)
            throw UsageError(
                fmt::format("\"{}\" names no streams; write 0 (none), 1 (stdout), 2 (stderr) or 3 (both), or "
                            "that for local ranks: "
                            "0:3,1:1",
                            text));
        out.of_rank_[*rank] = *streams;
    }
    return out;
}

std::string StreamChoice::text() const {
    if (of_rank_.empty()) return std::to_string(number_of(of_all_));
    std::string out;
    for (const auto& [rank, streams] : of_rank_)
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", rank, number_of(streams));
    return out;
}

StreamChoice::Streams StreamChoice::of(int local_rank) const {
    const auto found = of_rank_.find(local_rank);
    return found == of_rank_.end() ? of_all_ : found->second;
}

bool StreamChoice::any() const {
    constexpr Streams none;
    return of_all_ != none ||
           std::ranges::any_of(of_rank_, [&](const auto& each) { return each.second != none; });
}

}  // namespace dtrain::cluster
