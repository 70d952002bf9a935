// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <zlib.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::data {
namespace {

constexpr std::size_t read_ahead_bytes = 1 << 18;
constexpr std::size_t max_text_line = std::size_t{1} << 30;

gzFile handle(void* file) {
    return static_cast<gzFile>(file);
}

}  // namespace

void InputFile::Close::operator()(void* file) const {
    ::gzclose(handle(file));
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
    errno = 0;
    if (!std::filesystem::is_directory(path)) file_.reset(::gzopen(path.c_str(), "rbe"));
    if (!file_)
        throw UsageError(fmt::format("cannot read {}: {}", path.string(),
                                     errno != 0 ? std::strerror(errno) : "it is a folder"));
    ::gzbuffer(handle(file_.get()), read_ahead_bytes);
}

std::size_t InputFile::read(std::span<std::byte> buffer) {
    std::size_t done = 0;
    while (done < buffer.size()) {
        const auto wanted = static_cast<unsigned>(std::min<std::size_t>(buffer.size() - done, 1U << 30U));
        const auto count = ::gzread(handle(file_.get()), buffer.data() + done, wanted);
        int code = Z_OK;
        const char* message = ::gzerror(handle(file_.get()), &code);
        if (count < 0 || code == Z_BUF_ERROR)
            refuse(fmt::format("the file is cut off or damaged ({})",
                               code == Z_ERRNO ? std::strerror(errno) : message));
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

bool InputFile::next_line(std::string_view& line) {
    auto end = text_.find('\n', at_);
    while (end == std::string::npos && !at_end_) {
        text_.erase(0, at_);
        at_ = 0;
        const auto before = text_.size();
        if (before > max_text_line) refuse("a line is longer than 1 GiB; is this a text file?");
        text_.resize(before + read_ahead_bytes);
        const auto count = read(std::as_writable_bytes(std::span(text_).subspan(before)));
        text_.resize(before + count);
        at_end_ = count < read_ahead_bytes;
        end = text_.find('\n', before);
    }
    if (end == std::string::npos) {
        if (at_ == text_.size()) return false;
        end = text_.size();
    }
    line = std::string_view(text_).substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = std::min(end + 1, text_.size());
    ++line_number_;
    return true;
}

std::int64_t InputFile::bytes_read() const {
    return ::gzoffset(handle(file_.get()));
}

void InputFile::refuse_line(const std::string& what) const {
    throw UsageError(fmt::format("{}:{}: {}", path_.string(), line_number_, what));
}

void InputFile::refuse(const std::string& what) const {
    throw UsageError(fmt::format("{}: {}", path_.string(), what));
}

}  // namespace dtrain::data
