// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "base/files.hpp"

/// What this process uses, for tests that bound it.
namespace dtrain::tests {

inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries))) - 1;  // without its own
}

/// In KiB; 0 under a sanitizer, which keeps what is freed.
inline long resident_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#endif
    std::ifstream file("/proc/self/statm");
    long all = 0, resident = 0;
    file >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

/// As long as this object exists, this process can open no further descriptor.
class NoMoreDescriptors {
  public:
    NoMoreDescriptors() {
        const auto enough = open_descriptors() + 16;
        do all_below_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        while (static_cast<std::size_t>(all_below_.back().get()) < enough);
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto reached = before_;
        reached.rlim_cur = static_cast<rlim_t>(all_below_.back().get()) + 1;
        ::setrlimit(RLIMIT_NOFILE, &reached);
    }
    ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

  private:
    std::vector<FileDescriptor> all_below_;
    rlimit before_{};
};

}  // namespace dtrain::tests
