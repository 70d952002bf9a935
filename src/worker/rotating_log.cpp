// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/rotating_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace dtrain::worker {
namespace {

std::filesystem::path predecessor_of(std::filesystem::path log) {
    return log += ".1";
}

}  // namespace

RotatingLog::RotatingLog(std::filesystem::path log, const LogPolicy& policy)
    : log_(std::move(log)), policy_(policy), file_(open_log(log_, policy)) {
    std::error_code ignored;
    if (policy_.overwrite) std::filesystem::remove(predecessor_of(log_), ignored);
    policy_.overwrite = false;
    size_ = line_begin_ = static_cast<std::uintmax_t>(std::max<off_t>(0, ::lseek(file_.get(), 0, SEEK_END)));
}

void RotatingLog::append(std::string_view bytes) {
    taken_ += bytes.size();
    if (const auto loss = std::exchange(unreported_loss_, 0); loss > 0) {
        append_fitting(fmt::format("\n[dtrain-worker: {} bytes of output were lost here: {}]\n", loss,
                                   std::strerror(first_error_)));
        if (unreported_loss_ > 0) {
            unreported_loss_ = loss + bytes.size();
            return;
        }
    }
    append_fitting(bytes);
}

void RotatingLog::append_fitting(std::string_view bytes) {
    while (bytes.size() > room()) {
        const auto fitting = static_cast<std::size_t>(room());
        const auto last_line_end = bytes.substr(0, fitting).rfind('\n');
        if (last_line_end != std::string_view::npos) {
            write(bytes.substr(0, last_line_end + 1));
            bytes.remove_prefix(last_line_end + 1);
        } else if (line_begin_ == 0) {  // the line is longer than a whole file
            write(bytes.substr(0, fitting));
            bytes.remove_prefix(fitting);
        }
        if (!rotate()) return lose(bytes.size());
    }
    write(bytes);
}

std::uintmax_t RotatingLog::room() const {
    return *policy_.max_size > size_ ? *policy_.max_size - size_ : 0;
}

void RotatingLog::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return lose(bytes.size());
        const auto whole = bytes.substr(0, static_cast<std::size_t>(written));
        const auto last_line_end = whole.rfind('\n');
        if (last_line_end != std::string_view::npos) line_begin_ = size_ + last_line_end + 1;
        size_ += whole.size();
        bytes.remove_prefix(whole.size());
    }
}

bool RotatingLog::rotate() {
    const auto old = predecessor_of(log_);
    if (::rename(log_.c_str(), old.c_str()) != 0 && errno != ENOENT) return false;
    auto next = try_open_log(log_, policy_);
    if (!next.valid()) {
        const int error = errno;
        ::rename(old.c_str(), log_.c_str());
        errno = error;
        return false;
    }
    const auto unfinished = line_begin_ == 0 ? 0 : size_ - line_begin_;
    size_ = 0;
    if (unfinished > 0 && copy(line_begin_, unfinished, next)) {
        [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), static_cast<off_t>(line_begin_));
        size_ = unfinished;
    }
    line_begin_ = 0;
    file_ = std::move(next);
    if (rotated_) rotated_();
    return true;
}

bool RotatingLog::copy(std::uintmax_t begin, std::uintmax_t count, const FileDescriptor& to) const {
    std::array<char, 65536> piece;
    while (count > 0) {
        const auto part = static_cast<std::size_t>(std::min<std::uintmax_t>(count, piece.size()));
        const auto got = ::pread(file_.get(), piece.data(), part, static_cast<off_t>(begin));
        if (got <= 0 || !write_all(to.get(), {piece.data(), static_cast<std::size_t>(got)})) {
            [[maybe_unused]] const int ignored = ::ftruncate(to.get(), 0);
            return false;
        }
        begin += static_cast<std::uintmax_t>(got);
        count -= static_cast<std::uintmax_t>(got);
    }
    return true;
}

void RotatingLog::lose(std::size_t bytes) {
    if (bytes == 0) return;
    if (first_error_ == 0) first_error_ = errno;
    unreported_loss_ += bytes;
}

}  // namespace dtrain::worker
