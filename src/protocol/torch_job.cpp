// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/torch_job.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

namespace dtrain::cluster {
namespace {

constexpr const char* variable = "DTRAIN_TORCH_JOB";

}  // namespace

void TorchJob::write(Environment& environment) const {
    const nlohmann::json json{{"role", role},
                              {"run_id", run_id},
                              {"max_restarts", max_restarts},
                              {"redirects", redirects.text()},
                              {"tee", tee.text()},
                              {"line_prefix", line_prefix},
                              {"shown_local_ranks", shown_local_ranks.to_string()},
                              {"virtual_local_rank", virtual_local_rank}};
    environment.set(variable, json.dump());
}

std::optional<TorchJob> TorchJob::read(const Environment& environment) {
    const auto text = environment.get(variable);
    if (!text || text->empty()) return std::nullopt;
    try {
        const auto json = nlohmann::json::parse(*text);
        return TorchJob{.role = json.at("role"),
                        .run_id = json.at("run_id"),
                        .max_restarts = json.at("max_restarts"),
                        .redirects = StreamChoice::parse(json.at("redirects")),
                        .tee = StreamChoice::parse(json.at("tee")),
                        .line_prefix = json.at("line_prefix"),
                        .shown_local_ranks = RankList::parse(json.at("shown_local_ranks").get<std::string>()),
                        .virtual_local_rank = json.at("virtual_local_rank")};
    } catch (const nlohmann::json::exception& error) {
        throw UsageError(fmt::format("{}={}: expected what dtrain-run sets ({}); unset it", variable, *text,
                                     error.what()));
    }
}

std::string torch_log_folder(int attempt, int local_rank) {
    return fmt::format("attempt_{}/{}", attempt, local_rank);
}

}  // namespace dtrain::cluster
