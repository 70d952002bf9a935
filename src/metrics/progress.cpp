// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/progress.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dtrain::metrics {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t bar_width = 10;

/// "[==>       ]"
std::string bar(std::int64_t done, std::int64_t all) {
    const auto filled = all > 0 ? std::clamp(done * bar_width / all, std::int64_t{0}, bar_width) : 0;
    std::string text(static_cast<std::size_t>(filled), '=');
    if (filled < bar_width) text += '>';
    text.resize(bar_width, ' ');
    return "[" + text + "]";
}

/// "0:12", "1:02:03".
std::string clock_text(std::chrono::seconds time) {
    const auto seconds = time.count();
    if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

std::string progress_text(const Progress& progress, std::size_t width) {
    const auto left = progress.left ? fmt::format("  {} left", clock_text(*progress.left)) : std::string();
    const auto loss = progress.loss ? fmt::format("  loss {:.4f}", *progress.loss) : std::string();
    return cut_to(fmt::format("epoch {}/{} {} {}/{}  {:.0f} samples/s{}{}", progress.epoch, progress.epochs,
                              bar(progress.step, progress.steps), progress.step, progress.steps,
                              progress.samples_per_second, loss, left),
                  width);
}

std::chrono::milliseconds stands_for(const StatusLine& line) {
    if (line.on_terminal()) return 200ms;
    return 60s;
}

void show(const Progress& progress, StatusLine& line, const std::function<void(const std::string&)>& print) {
    if (line.on_terminal())
        line.show(progress_text(progress, line.width()));
    else
        print(progress_text(progress, std::string::npos) + "\n");
}

std::optional<std::chrono::seconds> time_left(std::chrono::duration<double> since_begin, std::int64_t done,
                                              std::int64_t left) {
    if (done < 2) return std::nullopt;
    const auto seconds = since_begin.count() * static_cast<double>(left) / static_cast<double>(done);
    constexpr double max = 1e15;
    return std::chrono::seconds(std::llround(std::min(seconds, max)));
}

}  // namespace dtrain::metrics
