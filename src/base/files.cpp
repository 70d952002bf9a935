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

#include "base/move_name.hpp"
#include "base/random_mark.hpp"

namespace dtrain {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void sync_open(int fd, const std::filesystem::path& path) {
    // Some file systems cannot sync a folder; they return EINVAL and need no sync.
    if (::fsync(fd) != 0 && errno != EINVAL) fail("cannot sync " + path.string());
}

void sync_path(const std::filesystem::path& path, int flags) {
    FileDescriptor fd(::open(path.c_str(), flags | O_CLOEXEC));
    if (!fd.valid()) fail("cannot open " + path.string());
    sync_open(fd.get(), path);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

/// The next content of a file, written to a temporary file beside it; removed with this object unless put in
/// place.
class NextContent {
  public:
    NextContent(const std::filesystem::path& path, mode_t mode)
        : path_(path),
          folder_(::open(folder_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
          name_(temporary_name(path).filename()) {
        if (!folder_.valid()) fail("cannot write " + path_.string());
        file_ = FileDescriptor(::openat(folder_.get(), name_.c_str(),
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (!file_.valid()) fail("cannot write " + path_.string());
    }
    NextContent(const NextContent&) = delete;
    NextContent& operator=(const NextContent&) = delete;
    ~NextContent() {
        if (!in_place_) ::unlinkat(folder_.get(), name_.c_str(), 0);
    }

    void write(std::string_view content, std::optional<mode_t> mode) {
        if (mode && ::fchmod(file_.get(), *mode) != 0) fail("cannot set the mode of " + path_.string());
        if (!write_all(file_.get(), content)) fail("cannot write " + path_.string());
    }

    void sync() { sync_open(file_.get(), path_); }

    void put_in_place() {
        // A network file system may report only now that there is no space.
        if (::close(file_.release()) != 0) fail("cannot write " + path_.string());
        if (!move_name(name_, path_.filename(), folder_.get())) fail("cannot replace " + path_.string());
        in_place_ = true;
    }

  private:
    std::filesystem::path path_;
    FileDescriptor folder_;
    std::filesystem::path name_;
    FileDescriptor file_;
    bool in_place_ = false;
};

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

std::filesystem::path temporary_name(std::filesystem::path path) {
    return path += ".tmp." + random_mark().substr(0, 16);
}

void make_new_file(const std::filesystem::path& path) {
    const FileDescriptor made(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!made.valid()) fail("cannot write " + path.string());
}

void replace_file(const std::filesystem::path& path, std::string_view content, std::optional<mode_t> mode) {
    NextContent next(path, mode.value_or(0666));
    next.write(content, mode);
    next.sync();
    next.put_in_place();
    sync_folder(path.parent_path());
}

void replace_passing_file(const std::filesystem::path& path, std::string_view content, mode_t mode) {
    NextContent next(path, mode);
    next.write(content, mode);
    next.put_in_place();
}

void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path) {
    sync_path(temporary, O_RDONLY | O_NOFOLLOW);
    if (!move_name(temporary, path)) fail("cannot rename " + temporary.string() + " to " + path.string());
    sync_folder(path.parent_path());
}

void sync_folder(const std::filesystem::path& folder) {
    sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

std::filesystem::path this_executable() {
    return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace dtrain
