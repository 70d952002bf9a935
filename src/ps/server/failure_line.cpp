// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/failure_line.hpp"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"

namespace dtrain::ps {

FailureLine::FailureLine(std::uint32_t server, const Environment& environment)
    : server_(server), is_reported_(!environment.has("DTRAIN_RANK_CPUS")) {}

void FailureLine::tell(std::string_view why) {
    if (std::exchange(is_reported_, true)) return;
    write_all(STDERR_FILENO, fmt::format("dtrain: parameter server {}: {}\n", server_, why));
}

}  // namespace dtrain::ps
