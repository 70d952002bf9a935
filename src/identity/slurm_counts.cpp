// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/slurm_counts.hpp"

#include <optional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

[[noreturn]] void throw_bad_counts(std::string_view name, std::string_view text) {
    throw UsageError(
        fmt::format("{}={} in the environment is no list of counts such as 2(x3),1; start the job through "
                    "srun or unset it",
                    name, text));
}

}  // namespace

std::vector<int> expand_counts(std::string_view name, std::string_view text) {
    constexpr int max_nodes = 1'000'000;
    std::vector<int> out;
    for (const auto& part : split(text, ',')) {
        const std::string_view item = trimmed(part);
        const auto open = item.find("(x");
        const auto count = parse_int(item.substr(0, open));
        std::optional<int> times = 1;
        if (open != std::string_view::npos)
            times =
                item.back() == ')' ? parse_int(item.substr(open + 2, item.size() - open - 3)) : std::nullopt;
        if (!count || *count < 0 || !times || *times < 1 || *times > max_nodes - static_cast<int>(out.size()))
            throw_bad_counts(name, text);
        out.insert(out.end(), static_cast<std::size_t>(*times), *count);
    }
    return out;
}

}  // namespace dtrain::cluster
