// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/key_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::transport {
namespace {

namespace fs = std::filesystem;

constexpr mode_t for_others = 077;
constexpr std::size_t max_key_file = 4096;

std::string content_of(const FileDescriptor& fd) {
    std::string text(max_key_file, '\0');
    const auto got = ::read(fd.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// Reads the key of an open file and checks the permissions of that file, not of what has its name a moment
/// later.
Key read_open_key(const FileDescriptor& fd, const fs::path& file) {
    struct stat info {};
    ::fstat(fd.get(), &info);
    if (!S_ISREG(info.st_mode))
        throw UsageError(fmt::format("the key {} is no file; remove it", file.string()));
    if (info.st_uid != ::geteuid())
        throw UsageError(
            fmt::format("the key {} belongs to user {} and not to you; name your own with DTRAIN_KEY_FILE",
                        file.string(), info.st_uid));
    if ((info.st_mode & for_others) != 0)
        throw UsageError(fmt::format("the key {} has mode {:04o}, so others may know it; run: chmod 600 {}",
                                     file.string(), info.st_mode & 07777, file.string()));
    auto key = Key::parse(content_of(fd));
    if (!key)
        throw UsageError(
            fmt::format("{} holds no key of 64 hexadecimal digits; run \"dtrain-launch key show\" on node "
                        "0 of the job and the command that it prints here",
                        file.string()));
    return *key;
}

FileDescriptor open_key(const fs::path& file) {
    return FileDescriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void make_folder(const fs::path& file) {
    const auto folder = file.parent_path();
    if (folder.empty() || fs::exists(folder)) return;
    fs::create_directories(folder.parent_path().empty() ? "." : folder.parent_path());
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail("cannot make " + folder.string());
}

/// Only one process succeeds in creating the link, also on network file systems; the others find its key.
void publish_if_absent(const fs::path& file, const Key& key) {
    make_folder(file);
    std::string temporary = file.string() + ".XXXXXX";
    {
        const FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
        if (!fd.valid()) fail("cannot write " + temporary);
        if (!write_all(fd.get(), key.to_hex() + "\n") || ::fsync(fd.get()) != 0) {
            ::unlink(temporary.c_str());
            fail("cannot write " + temporary);
        }
    }
    const int linked = ::link(temporary.c_str(), file.c_str());
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    if (linked != 0 && errno != EEXIST) fail("cannot write " + file.string());
}

}  // namespace

fs::path key_file(const Environment& environment) {
    if (const auto named = environment.get_or("DTRAIN_KEY_FILE", ""); !named.empty()) return named;
    const auto home = environment.get_or("HOME", "");
    if (home.empty())
        throw UsageError(
            "there is no HOME to look for .dtrain/key in; name the file of the key with DTRAIN_KEY_FILE");
    return fs::path(home) / ".dtrain" / "key";
}

Key read_key(const fs::path& file) {
    const auto fd = open_key(file);
    if (!fd.valid())
        throw UsageError(
            fmt::format("the key {} cannot be read: {}; run \"dtrain-launch key show\" on node 0 of the job "
                        "and the command that it prints here",
                        file.string(), std::generic_category().message(errno)));
    return read_open_key(fd, file);
}

Key read_or_make_key(const fs::path& file) {
    if (const auto fd = open_key(file); fd.valid() || errno != ENOENT) return read_key(file);
    publish_if_absent(file, Key::random());
    return read_key(file);
}

void install_key(const fs::path& file, std::string_view text) {
    const auto key = Key::parse(text);
    if (!key)
        throw UsageError(
            "this is no key: 64 hexadecimal digits are; \"dtrain-launch key show\" on the other node prints "
            "the command");
    make_folder(file);
    replace_file(file, key->to_hex() + "\n", 0600);
}

std::string install_command(const Key& key) {
    return fmt::format("echo {} | dtrain-launch key install", key.to_hex());
}

std::string how_to_copy_key(const std::string& from, const std::string& to) {
    return fmt::format("run \"dtrain-launch key show\" on {} and the command that it prints on {}", from, to);
}

}  // namespace dtrain::transport
