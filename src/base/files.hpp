// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>
#include <utility>

namespace dtrain {

/// Owns a file descriptor; the destructor closes it.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() { reset(); }

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    void reset();
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

/// Both ends of a pipe, close-on-exec.
struct Pipe {
    FileDescriptor read_end;
    FileDescriptor write_end;

    static Pipe open();
};

/// Makes `fd` non-blocking.
void make_nonblocking(int fd);

/// Writes all of `bytes`, despite interruptions and short writes. False if the other side is gone or the
/// device is full (see errno).
bool write_all(int fd, std::string_view bytes);

/// Reads from an offset, despite interruptions and short reads.
/// @return number of bytes, fewer at the end of the file; nothing if it cannot be read (see errno)
std::optional<std::size_t> read_at(int fd, void* data, std::size_t bytes, std::int64_t offset);

/// The whole content, or nothing if the file cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Size of a file in bytes, 0 if there is none.
std::uintmax_t size_or_zero(const std::filesystem::path& path);

/// Creates the folder if there is none.
/// @returns why nothing can be written into it, or no error
std::error_code make_writable_folder(const std::filesystem::path& path);

/// A temporary name for a file that will replace `path`: in the same folder, and unpredictable. It begins
/// with the name of `path` and ".tmp.".
std::filesystem::path temporary_name(std::filesystem::path path);

/// Creates a new, empty file; does not follow links.
/// @throws std::system_error naming the path, also if it exists.
void make_new_file(const std::filesystem::path& path);

/// Writes `content` to `path` such that a reader, or a machine that loses power, sees the old file or the new
/// one, never a part: a new file beside it under an unpredictable name, fsync, rename, fsync of the folder. A
/// link at `path` is replaced, not followed. Leaves no files behind on failure.
/// @param mode permissions of the file, independent of the umask; none: according to the umask
/// @throws std::system_error naming the path.
void replace_file(const std::filesystem::path& path, std::string_view content,
                  std::optional<mode_t> mode = std::nullopt);

/// Makes the entries of a folder durable ("": the current folder), if its file system can.
/// @throws std::system_error naming the folder.
void sync_folder(const std::filesystem::path& folder);

/// Like replace_file, without the syncs, for files that are not needed after a power loss.
void replace_passing_file(const std::filesystem::path& path, std::string_view content, mode_t mode);

/// Makes the complete file `temporary` durable and moves it to `path`, like replace_file.
/// @throws std::system_error naming the path.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// Path of the running program, with links resolved.
std::filesystem::path this_executable();

}  // namespace dtrain
