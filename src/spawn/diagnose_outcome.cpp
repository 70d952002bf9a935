// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/diagnose_outcome.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain::spawning {
namespace {

using nlohmann::json;

struct Cause {
    int rank = -1;
    std::string how;
};

/// The rank that dtrain-launch names as the cause in its report.
std::optional<Cause> cause_in(const std::filesystem::path& report) {
    return read_json(read_file(report).value_or(""), [](const json& value) {
        const auto& cause = value.at("cause");
        const auto& signal = cause.at("signal");
        const auto& code = cause.at("exit_code");
        std::string how = "failed: " + cause.at("how").get<std::string>();
        if (!signal.is_null())
            how = "was killed by " + signal.get<std::string>();
        else if (!code.is_null())
            how = fmt::format("ended with exit code {}", code.get<int>());
        return Cause{cause.at("rank").get<int>(), how};
    });
}

Failure thrown_by(int rank, int ranks, const SpawnFolder& folder) {
    return {rank, fmt::format("rank {} of {}: {}", rank, ranks, folder.failure(rank).value_or(""))};
}

/// The launcher's error: the last line of its output.
std::string final_lines(const std::filesystem::path& messages) {
    const auto text = read_file(messages).value_or("");
    const auto lines = split(trimmed(text), '\n');
    return lines.back().empty() ? "dtrain-launch said nothing" : lines.back();
}

}  // namespace

Outcome diagnose(int status, int ranks, const SpawnFolder& folder) {
    if (status != 0) {
        const auto cause = cause_in(folder.report());
        if (cause && folder.failure(cause->rank)) return thrown_by(cause->rank, ranks, folder);
        if (const auto rank = folder.first_failure(ranks)) return thrown_by(*rank, ranks, folder);
        if (cause)
            return Failure{cause->rank, fmt::format("rank {} of {} {}", cause->rank, ranks, cause->how)};
        return Failure{-1, fmt::format("the {} of spawn() did not run to the end (status {}): {}",
                                       counted(ranks, "rank"), status, final_lines(folder.messages()))};
    }
    Results results;
    for (int rank = 0; rank < ranks; ++rank) {
        auto result = folder.result(rank);
        if (!result)
            return Failure{rank, fmt::format("rank {} of {} ended without running the function: main() must "
                                             "come to the same call of spawn() there",
                                             rank, ranks)};
        results.push_back(*std::move(result));
    }
    return results;
}

}  // namespace dtrain::spawning
