// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/log_tail.hpp"

#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/prefixed_lines.hpp"

namespace dtrain::launch {
namespace {

constexpr std::size_t piece_size = 64 * 1024;

}  // namespace

LogTail::LogTail(std::filesystem::path log, std::uintmax_t begin, std::string prefix)
    : log_(std::move(log)), at_(static_cast<off_t>(begin)), prefix_(std::move(prefix)) {}

bool LogTail::show(int console, bool complete) {
    if (!file_.valid() && !open()) return true;
    for (;;) {
        std::array<char, piece_size> piece;
        const auto got = ::pread(file_.get(), piece.data(), piece.size(), at_);
        if (got > 0) {
            at_ += got;
            pending_.append(piece.data(), static_cast<std::size_t>(got));
            if (!show_pending(console, false)) return false;
        } else if (!begins_anew() || !open()) {
            break;
        } else {
            at_ = 0;
        }
    }
    return !complete || show_pending(console, true);
}

bool LogTail::open() {
    FileDescriptor file(::open(log_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return false;
    struct stat info {};
    if (::fstat(file.get(), &info) == 0 && info.st_size < at_) at_ = 0;
    file_ = std::move(file);
    return true;
}

bool LogTail::begins_anew() const {
    struct stat named {
    }, opened{};
    return ::stat(log_.c_str(), &named) == 0 && ::fstat(file_.get(), &opened) == 0 &&
           (named.st_ino != opened.st_ino || named.st_dev != opened.st_dev || named.st_size < at_);
}

bool LogTail::show_pending(int console, bool complete) {
    if (prefix_.empty()) {
        const auto text = std::exchange(pending_, "");
        return write_all(console, text);
    }
    while (!pending_.empty()) {
        const auto lines = prefixed_lines(pending_, prefix_, piece_size, complete);
        if (lines.taken == 0) return true;
        if (!write_all(console, lines.text)) return false;
        pending_.erase(0, lines.taken);
    }
    return true;
}

}  // namespace dtrain::launch
