// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/supervise/status_line.hpp"

#include <fmt/format.h>

namespace dtrain::launch {
namespace {

std::string duration_text(std::chrono::seconds time) {
    const auto seconds = time.count();
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

std::string status_text(const JobProgress& status, std::size_t width) {
    return cut_to(fmt::format("{} of {} ranks up, {}{}, logs in {}", status.up, status.size,
                              status.done > 0 ? fmt::format("{} done, ", status.done) : "",
                              duration_text(status.elapsed), status.log_dir),
                  width);
}

}  // namespace dtrain::launch
