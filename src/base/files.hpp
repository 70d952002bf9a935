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

/// Owns a file descriptor; closes it when it goes.
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

/// Reads and writes of `fd` do not wait any more.
void make_nonblocking(int fd);

/// Writes all of `bytes`, through interruptions and short writes. False when the other side is gone or the
/// device is full (errno tells).
bool write_all(int fd, std::string_view bytes);

/// Reads from an offset on, through interruptions and short reads. @return bytes: fewer where the file ends;
/// nothing: it cannot be read (errno tells)
std::optional<std::size_t> read_at(int fd, void* data, std::size_t bytes, std::int64_t offset);

/// The whole content, or nothing when the file cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Bytes of a file, 0 when there is none.
std::uintmax_t size_or_zero(const std::filesystem::path& path);

/// Makes the folder where there is none. @returns why nothing can be written into it, or no error
std::error_code make_writable_folder(const std::filesystem::path& path);

/// Where a file is written before it takes the place of `path`: beside it, under a name that nobody knows
/// before. The name begins with that of `path` and ".tmp.".
std::filesystem::path temporary_name(std::filesystem::path path);

/// Makes an empty file that was not there, and follows no link.
/// @throws std::system_error naming the path.
void make_new_file(const std::filesystem::path& path);

/// Puts `content` at `path` so that a reader, or a machine that loses power, sees the old file or the new
/// one, never a part: a new file beside it, under a name that nobody knows before, fsync, rename, fsync of
/// the folder. A link at `path` is replaced, not followed. What fails leaves nothing behind.
/// @param mode the file's permissions, whatever the umask; none: as the umask has it
/// @throws std::system_error naming the path.
void replace_file(const std::filesystem::path& path, std::string_view content,
                  std::optional<mode_t> mode = std::nullopt);

/// Makes durable which names a folder has ("": the current one), where its file system can.
/// @throws std::system_error naming the folder.
void sync_folder(const std::filesystem::path& folder);

/// As replace_file without the syncs, for what no one needs after a loss of power.
void replace_passing_file(const std::filesystem::path& path, std::string_view content, mode_t mode);

/// Makes a file that is complete already under `temporary` durable and moves it to `path`, as replace_file.
/// @throws std::system_error naming the path.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// The running program's own file, links resolved.
std::filesystem::path this_executable();

}  // namespace dtrain
