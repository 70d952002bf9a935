// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameter_check.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/checksum.hpp"
#include "parallel/with_real.hpp"

namespace dtrain::parallel {
namespace {

std::optional<std::string> what_is_wrong(const std::vector<ParameterBuffers>& parameters) {
    if (parameters.empty()) return "there is no parameter whose gradient could be averaged";
    for (const auto& [name, values, gradient] : parameters) {
        if (values.size() != gradient.size())
            return fmt::format("parameter '{}' has {} values, but {} in its gradient", name, values.size(),
                               gradient.size());
        for (const auto type : {values.type(), gradient.type()})
            if (!is_real(type))
                return fmt::format(
                    "parameter '{}' has {} elements; values and gradients are float32, float64, float16 or "
                    "bfloat16",
                    name, to_string(type));
    }
    return std::nullopt;
}

/// "'w' (1000 float16)", "'w' (1000 bfloat16, gradient float32)".
std::string in_words(const ParameterBuffers& parameter) {
    const auto values = to_string(parameter.values.type());
    const auto gradient = to_string(parameter.gradient.type());
    return fmt::format("'{}' ({} {}{})", parameter.name, parameter.values.size(), values,
                       gradient == values ? "" : ", gradient " + gradient);
}

std::int64_t checksum_of(const std::string& text, std::uint64_t start = 0) {
    return static_cast<std::int64_t>(checksum(start, std::as_bytes(std::span(text))));
}

std::int64_t checksum_of(const std::vector<ParameterBuffers>& parameters) {
    std::int64_t sum = 0;
    for (const auto& parameter : parameters)
        sum = checksum_of(in_words(parameter), static_cast<std::uint64_t>(sum));
    return sum;
}

/// The first rank that has something else than rank 0; none: all have the same.
template <class Value>
std::optional<std::size_t> first_other(const std::vector<Value>& by_rank) {
    const auto other =
        std::ranges::find_if(by_rank, [&](const auto& value) { return value != by_rank.front(); });
    if (other == by_rank.end()) return std::nullopt;
    return static_cast<std::size_t>(other - by_rank.begin());
}

/// Of ranks that have as many parameters.
std::optional<std::string> first_difference(const Communicator& communicator,
                                            const std::vector<ParameterBuffers>& parameters) {
    for (std::size_t number = 0; number < parameters.size(); ++number) {
        const auto own = in_words(parameters[number]);
        if (communicator.all_have(checksum_of(own))) continue;
        const auto by_rank = communicator.allgather(own);
        const auto other = first_other(by_rank).value_or(0);
        return fmt::format(
            "the ranks have parameters of different names or sizes or types: number {} is {} on rank 0 and "
            "{} "
            "on rank {}; build the same model everywhere, in the same order",
            number, by_rank.front(), by_rank[other], other);
    }
    return std::nullopt;
}

}  // namespace

void check_parameters(const Communicator& communicator, const std::vector<ParameterBuffers>& parameters) {
    throw_together(communicator, what_is_wrong(parameters));
    if (communicator.all_have(checksum_of(parameters))) return;
    const auto counts = communicator.allgather(static_cast<std::int64_t>(parameters.size()));
    if (const auto other = first_other(counts))
        throw_together(communicator,
                       std::optional(fmt::format(
                           "rank 0 has {} parameters and rank {} has {}; build the same model everywhere",
                           counts.front(), *other, counts[*other])));
    throw_together(communicator, first_difference(communicator, parameters));
}

}  // namespace dtrain::parallel
