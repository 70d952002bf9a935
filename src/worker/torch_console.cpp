// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/torch_console.hpp"

#include <utility>

namespace dtrain::worker {
namespace {

std::string with_replaced(std::string text, const std::string& name, const std::string& value) {
    const auto macro = "${" + name + "}";
    for (auto at = text.find(macro); at != std::string::npos; at = text.find(macro, at + value.size()))
        text.replace(at, macro.size(), value);
    return text;
}

/// Before each line of --tee.
std::string prefix_of(const cluster::TorchJob& job, const cluster::Identity& identity,
                      const std::string& host) {
    auto out = job.line_prefix;
    for (const auto& [name, value] :
         {std::pair{"role_name", job.role}, std::pair{"local_rank", std::to_string(identity.local_rank)},
          std::pair{"rank", std::to_string(identity.rank)}, std::pair{"hostname", host}})
        out = with_replaced(std::move(out), name, value);
    return out;
}

}  // namespace

std::vector<ShownLog> shown_torch_logs(const cluster::TorchJob& job, const cluster::Identity& identity,
                                       const std::string& host, const std::filesystem::path& out,
                                       const std::filesystem::path& err) {
    std::vector<ShownLog> shown;
    if (!job.shown_local_ranks.contains(identity.local_rank)) return shown;
    const auto redirected = job.redirects.of(identity.local_rank);
    const auto tee = job.tee.of(identity.local_rank);
    const bool by_line = identity.size > 1;
    const auto show = [&](const std::filesystem::path& log, bool is_tee, bool is_redirected, bool as_errors) {
        if (is_tee)
            shown.push_back({.log = log,
                             .style = {.prefix = prefix_of(job, identity, host), .by_line = true},
                             .as_errors = as_errors});
        else if (!is_redirected)
            shown.push_back({.log = log, .style = {.by_line = by_line}, .as_errors = as_errors});
    };
    show(out, tee.out, redirected.out, false);
    show(err, tee.err, redirected.err, true);
    return shown;
}

}  // namespace dtrain::worker
