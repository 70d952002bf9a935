// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/log_follower.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

#include "base/prefixed_lines.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds patience{200};  // with a line that does not end
constexpr std::size_t files_on_disk = 2;            // the log and its predecessor

/// Lines are shown in pieces of this size, longer ones by themselves: Open MPI gives a rank a pseudo
/// terminal, which passes on a longer write in parts of this size, and what another rank writes comes between
/// them.
constexpr std::size_t piece_of_lines = 2048;

off_t size_of(const FileDescriptor& file) {
    struct stat info {};
    return ::fstat(file.get(), &info) == 0 ? info.st_size : 0;
}

FileDescriptor open_for_reading(const std::filesystem::path& path) {
    return FileDescriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

/// Where the lines end that are shown next. A progress bar returns to the beginning of its line instead of
/// ending it.
std::size_t end_of_lines(std::string_view bytes) {
    const auto end = bytes.substr(0, piece_of_lines).find_last_of("\n\r");
    return end != std::string_view::npos ? end : bytes.find_first_of("\n\r");
}

/// How long the text may be that begins with this line.
std::size_t limit_with(std::string_view bytes, std::string_view prefix) {
    const auto first_line = prefix.size() + std::min(bytes.find('\n'), bytes.size()) + 1;
    return first_line > piece_of_lines ? PIPE_BUF : piece_of_lines;
}

}  // namespace

Console Console::of(int fd) {
    return {.fd = fd, .write = [fd](std::string_view text) { return write_all(fd, text); }};
}

LogFollower::LogFollower(std::filesystem::path log, Console console, ConsoleStyle style)
    : log_(std::move(log)),
      console_(std::move(console)),
      style_(std::move(style)),
      watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    files_.push_back(open_for_reading(log_));
    shown_ = size_of(files_.front());
    watch_log();
}

void LogFollower::watch_log() {
    if (::inotify_add_watch(watch_.get(), log_.c_str(), IN_MODIFY) < 0) watch_.reset();
}

void LogFollower::note_growth() {
    std::array<char, 4096> events;
    while (::read(watch_.get(), events.data(), events.size()) > 0) {
    }
    want_to_write();
}

void LogFollower::want_to_write() {
    if (!pending_) last_progress_ = Clock::now();
    pending_ = !reader_gone_;
}

bool LogFollower::needs_time() const {
    return pending_ && files_.size() == files_on_disk && Clock::now() - last_progress_ < timeout;
}

void LogFollower::note_rotation() {
    files_.push_back(open_for_reading(log_));
    watch_log();
    skip_what_is_deleted();
    want_to_write();
}

/// A deleted file that stays open keeps using disk space that the log's size limit should free.
void LogFollower::skip_what_is_deleted() {
    while (files_.size() > files_on_disk) {
        skipped_ += std::max<off_t>(0, size_of(files_.front()) - shown_);
        begin_next_file();
    }
}

/// If more bytes were shown than the file has, they belong to an unfinished line that moved to the next file.
void LogFollower::begin_next_file() {
    shown_ = std::max<off_t>(0, shown_ - size_of(files_.front()));
    files_.pop_front();
}

void LogFollower::write_piece() {
    if (const auto skipped = std::exchange(skipped_, 0); skipped > 0) {
        show(fmt::format("\n{}[dtrain-worker: {} bytes are not shown, the console is too slow]\n",
                         style_.prefix, skipped));
        return;
    }
    // A pipe that polls writable accepts PIPE_BUF bytes without blocking.
    std::array<char, PIPE_BUF> piece;
    const auto got = ::pread(files_.front().get(), piece.data(), piece.size(), shown_);
    if (got > 0)
        show_lines({piece.data(), static_cast<std::size_t>(got)});
    else if (files_.size() > 1)
        begin_next_file();
    else
        pending_ = false;
}

/// Whether nothing will follow in this file.
bool LogFollower::is_complete(std::string_view bytes) const {
    const bool to_the_end = shown_ + static_cast<off_t>(bytes.size()) >= size_of(files_.front());
    return to_the_end && (draining_ || files_.size() > 1);
}

int LogFollower::ms_to_unfinished_line() const {
    if (unfinished_ == 0) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(unfinished_since_ + patience - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void LogFollower::show_bytes(std::string_view bytes) {
    if (style_.by_line) {
        if (const auto end = end_of_lines(bytes); end != std::string_view::npos) {
            bytes = bytes.substr(0, end + 1);
        } else if (bytes.size() < PIPE_BUF && !is_complete(bytes) &&
                   (unfinished_ != bytes.size() || ms_to_unfinished_line() > 0)) {
            if (unfinished_ != bytes.size()) unfinished_since_ = Clock::now();
            unfinished_ = bytes.size();
            pending_ = false;
            return;
        }
    }
    unfinished_ = 0;
    if (show(bytes)) shown_ += static_cast<off_t>(bytes.size());
}

void LogFollower::show_lines(std::string_view bytes) {
    if (style_.prefix.empty()) return show_bytes(bytes);
    const auto lines =
        prefixed_lines(bytes, style_.prefix, limit_with(bytes, style_.prefix), is_complete(bytes));
    if (lines.taken == 0)
        pending_ = false;  // the rest of the line has not arrived yet
    else if (show(lines.text))
        shown_ += static_cast<off_t>(lines.taken);
}

bool LogFollower::show(std::string_view text) {
    if (console_.write(text)) {
        last_progress_ = Clock::now();
        bytes_shown_ += text.size();
        return true;
    }
    reader_gone_ = true;
    pending_ = false;
    return false;
}

void LogFollower::drain() {
    pending_ = !reader_gone_;
    draining_ = true;
    while (pending_) write_piece();
}

}  // namespace dtrain::worker
