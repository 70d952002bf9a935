// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Calls of the C library as they are on bad machines, for LD_PRELOAD or to link with:
//   FAULTY_CLOCK=FILE         the clock of the day is so many seconds off as the file says, at any time anew
//   FAULTY_LINKS=FOLDER       new files below the folder are somebody's links to FOLDER/target just before
//   FAULTY_REMOVALS=FOLDER    what is renamed or removed below the folder somebody has removed just before
//   FAULTY_RENAMES=FOLDER     renames below the folder happen, and then say ENOENT: NFS, a reply was lost
//   FAULTY_FOLDERS=FOLDER     folders below the folder cannot be listed: EIO
//   FAULTY_DEATH=N:FOLDER     the process is killed before its Nth open, rename or removal below the folder
//   FAULTY_SLOW=MS:FOLDER     opens, writes, syncs and renames below the folder take so long each
// What the kernel is asked without the C library is as ever.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

long seconds_off() {
    const char* const path = std::getenv("FAULTY_CLOCK");
    if (path == nullptr) return 0;
    const int error = errno;
    char text[32] = {};
    const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        [[maybe_unused]] const long count = ::syscall(SYS_read, file, text, sizeof(text) - 1);
        ::syscall(SYS_close, file);
    }
    errno = error;
    return std::strtol(text, nullptr, 10);
}

/// The path that a name, relative or not, or a descriptor means.
std::string whole_path(int folder, const char* name) {
    if (name != nullptr && *name == '/') return name;
    char path[4096] = {};
    const auto link =
        folder == AT_FDCWD ? std::string("/proc/self/cwd") : "/proc/self/fd/" + std::to_string(folder);
    if (::readlink(link.c_str(), path, sizeof(path) - 1) < 0) return {};
    return name == nullptr ? path : std::string(path) + "/" + name;
}

bool is_below(const std::string& path, const char* folder) {
    return folder != nullptr && path.compare(0, std::strlen(folder), folder) == 0;
}

bool is_readable(const std::string& path) {
    if (!is_below(path, std::getenv("FAULTY_FOLDERS"))) return true;
    errno = EIO;
    return false;
}

/// N of a variable "N:FOLDER" if this is below the folder; else 0.
long number_for(const char* variable, int folder, const char* name) {
    const char* const wanted = std::getenv(variable);
    const char* const colon = wanted == nullptr ? nullptr : std::strchr(wanted, ':');
    if (colon == nullptr || !is_below(whole_path(folder, name), colon + 1)) return 0;
    return std::strtol(wanted, nullptr, 10);
}

void wait_for_the_disk(int folder, const char* name = nullptr) {
    const int error = errno;
    if (const long milliseconds = number_for("FAULTY_SLOW", folder, name); milliseconds > 0) {
        timespec left{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
        while (::syscall(SYS_nanosleep, &left, &left) != 0 && errno == EINTR) {
        }
    }
    errno = error;
}

void die_in_time(int folder, const char* name) {
    static std::atomic<long> calls{0};
    const int error = errno;
    if (const long last = number_for("FAULTY_DEATH", folder, name); last > 0 && ++calls == last)
        ::raise(SIGKILL);
    errno = error;
}

void remove_in_time(int folder, const char* name, int flags) {
    const int error = errno;
    if (is_below(whole_path(folder, name), std::getenv("FAULTY_REMOVALS")))
        ::syscall(SYS_unlinkat, folder, name, flags);
    errno = error;
}

void before_a_rename(int folder, const char* name) {
    die_in_time(folder, name);
    remove_in_time(folder, name, 0);
}

void before_an_open(int folder, const char* name, int flags) {
    die_in_time(folder, name);
    const int error = errno;
    const char* const links = std::getenv("FAULTY_LINKS");
    if ((flags & O_CREAT) != 0 && is_below(whole_path(folder, name), links))
        ::syscall(SYS_symlinkat, (std::string(links) + "/target").c_str(), folder, name);
    errno = error;
}

int after_a_rename(int status, const std::string& path) {
    if (status != 0 || !is_below(path, std::getenv("FAULTY_RENAMES"))) return status;
    errno = ENOENT;
    return -1;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
    const int status = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += seconds_off();
    return status;
}

int gettimeofday(timeval* __restrict now, void* __restrict zone) noexcept {
    static auto* const real = next<int(timeval*, void*)>("gettimeofday");
    const int status = real(now, zone);
    now->tv_sec += seconds_off();
    return status;
}

time_t time(time_t* now) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now != nullptr) *now = exact.tv_sec;
    return exact.tv_sec;
}

int rename(const char* from, const char* to) noexcept {
    static auto* const real = next<int(const char*, const char*)>("rename");
    wait_for_the_disk(AT_FDCWD, to);
    before_a_rename(AT_FDCWD, from);
    return after_a_rename(real(from, to), whole_path(AT_FDCWD, to));
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    static auto* const real = next<int(int, const char*, int, const char*)>("renameat");
    wait_for_the_disk(to_folder, to);
    before_a_rename(from_folder, from);
    return after_a_rename(real(from_folder, from, to_folder, to), whole_path(to_folder, to));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    static auto* const real = next<int(int, const char*, int)>("unlinkat");
    die_in_time(folder, path);
    remove_in_time(folder, path, flags);
    return real(folder, path, flags);
}

DIR* opendir(const char* path) {
    static auto* const real = next<DIR*(const char*)>("opendir");
    return is_readable(whole_path(AT_FDCWD, path)) ? real(path) : nullptr;
}

DIR* fdopendir(int folder) {
    static auto* const real = next<DIR*(int)>("fdopendir");
    return is_readable(whole_path(folder, nullptr)) ? real(folder) : nullptr;
}

int remove(const char* path) noexcept {
    static auto* const real = next<int(const char*)>("remove");
    die_in_time(AT_FDCWD, path);
    return real(path);
}

int fsync(int file) {
    static auto* const real = next<int(int)>("fsync");
    wait_for_the_disk(file);
    return real(file);
}

ssize_t write(int file, const void* bytes, size_t count) {
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    wait_for_the_disk(file);
    return real(file, bytes, count);
}

ssize_t writev(int file, const iovec* parts, int count) {
    static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
    wait_for_the_disk(file);
    return real(file, parts, count);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
    wait_for_the_disk(file);
    return real(file, bytes, count, offset);
}

int open64(const char* path, int flags, ...) {
    static auto* const real = next<int(const char*, int, ...)>("open64");
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    wait_for_the_disk(AT_FDCWD, path);
    before_an_open(AT_FDCWD, path, flags);
    return real(path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    static auto* const real = next<int(int, const char*, int, ...)>("openat64");
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    wait_for_the_disk(folder, path);
    before_an_open(folder, path, flags);
    return real(folder, path, flags, mode);
}
}
