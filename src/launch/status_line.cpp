// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/status_line.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::size_t usual_width = 80;

std::string duration_text(std::chrono::seconds time) {
    const auto seconds = time.count();
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

std::string status_text(const JobStatus& status, std::size_t width) {
    auto text = fmt::format("{} of {} ranks up, {}{}, logs in {}", status.up, status.size,
                            status.done > 0 ? fmt::format("{} done, ", status.done) : "",
                            duration_text(status.elapsed), status.log_dir);
    if (text.size() > width) {
        while (width > 0 && continues_character(text[width])) --width;
        text.resize(width);
    }
    return text;
}

StatusLine::StatusLine(int terminal) : terminal_(terminal >= 0 && ::isatty(terminal) ? terminal : -1) {}

std::size_t StatusLine::width() const {
    winsize size{};
    const bool known = on_terminal() && ::ioctl(terminal_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (known ? size.ws_col : usual_width) - 1;  // a full line would wrap
}

void StatusLine::show(const std::string& text) {
    if (!on_terminal() || text == shown_) return;
    pollfd room{terminal_, POLLOUT, 0};
    if (::poll(&room, 1, 0) != 1) return;
    const auto leftovers = text.size() < shown_.size() ? shown_.size() - text.size() : 0;
    write_all(terminal_, "\r" + text + std::string(leftovers, ' '));
    shown_ = text;
}

void StatusLine::clear() {
    if (shown_.empty()) return;
    write_all(terminal_, "\r" + std::string(shown_.size(), ' ') + "\r");
    shown_.clear();
}

}  // namespace dtrain::launch
