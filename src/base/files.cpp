// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace dtrain {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void sync_path(const std::filesystem::path& path, int flags) {
    FileDescriptor fd(::open(path.c_str(), flags | O_CLOEXEC));
    if (!fd.valid()) fail("cannot open " + path.string());
    // Some file systems cannot sync a folder; they say EINVAL and need no sync.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) fail("cannot sync " + path.string());
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0)
        fail("cannot rename " + from.string() + " to " + to.string());
}

std::filesystem::path written_beside(std::filesystem::path path, std::string_view content,
                                     std::optional<mode_t> mode) {
    path += ".tmp." + std::to_string(::getpid());
    FileDescriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode.value_or(0666)));
    if (!out.valid()) fail("cannot write " + path.string());
    if (mode && ::fchmod(out.get(), *mode) != 0) fail("cannot set the mode of " + path.string());
    if (!write_all(out.get(), content)) fail("cannot write " + path.string());
    return path;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

void FileDescriptor::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

Pipe Pipe::open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void make_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::optional<std::size_t> read_at(int fd, void* data, std::size_t bytes, std::int64_t offset) {
    std::size_t done = 0;
    while (done < bytes) {
        const auto count = ::pread(fd, static_cast<char*>(data) + done, bytes - done,
                                   offset + static_cast<std::int64_t>(done));
        if (count == 0) break;
        if (count < 0 && errno != EINTR) return std::nullopt;
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return done;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    std::ostringstream content;
    content << in.rdbuf();
    if (in.bad()) return std::nullopt;
    return content.str();
}

std::uintmax_t size_or_zero(const std::filesystem::path& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
}

std::error_code make_writable_folder(const std::filesystem::path& path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (!failed && ::access(path.c_str(), W_OK | X_OK) != 0) failed.assign(errno, std::generic_category());
    return failed;
}

void replace_file(const std::filesystem::path& path, std::string_view content, std::optional<mode_t> mode) {
    publish_file(written_beside(path, content, mode), path);
}

void replace_passing_file(const std::filesystem::path& path, std::string_view content, mode_t mode) {
    rename_file(written_beside(path, content, mode), path);
}

void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path) {
    sync_path(temporary, O_RDONLY);
    rename_file(temporary, path);
    sync_folder(path.parent_path());
}

void sync_folder(const std::filesystem::path& folder) {
    sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

std::filesystem::path this_executable() {
    return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace dtrain
