// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/failure_line.hpp"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error_file.hpp"
#include "base/files.hpp"

namespace dtrain::ps {

FailureLine::FailureLine(std::uint32_t server, const Environment& environment)
    : server_(server), is_reported_(!environment.has("DTRAIN_RANK_CPUS")) {}

void FailureLine::report(std::string_view why) {
    if (std::exchange(is_reported_, true)) return;
    const auto message = fmt::format("parameter server {}: {}", server_, why);
    write_all(STDERR_FILENO, "dtrain: " + message + "\n");
    report_error(
        {.kind = "dtrain::ps::ServerError", .message = message, .server = static_cast<int>(server_)});
}

}  // namespace dtrain::ps
