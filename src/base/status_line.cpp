// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/status_line.hpp"

#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr std::size_t usual_width = 80;

}  // namespace

StatusLine::StatusLine(int terminal) : terminal_(terminal >= 0 && ::isatty(terminal) ? terminal : -1) {}

StatusLine StatusLine::on_output() {
    const auto* const kind = std::getenv("TERM");
    return StatusLine(is_watched(STDOUT_FILENO, kind == nullptr ? "" : kind) ? STDOUT_FILENO : -1);
}

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

std::string cut_to(std::string text, std::size_t width) {
    if (text.size() <= width) return text;
    while (width > 0 && continues_character(text[width])) --width;
    text.resize(width);
    return text;
}

bool is_watched(int fd, std::string_view kind) {
    if (kind == "dumb" || ::isatty(fd) == 0) return false;
    // A terminal created by a launcher has no foreground process group.
    if (::tcgetpgrp(fd) >= 0) return true;
    std::error_code failed;
    const auto of_launcher =
        std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", ::getppid(), fd), failed).string();
    return of_launcher.starts_with("/dev/pts/") || of_launcher.starts_with("/dev/tty");
}

}  // namespace dtrain
