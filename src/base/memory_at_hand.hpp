// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dtrain {

/// Where the kernel reports memory; test folders in tests.
struct MemorySources {
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::filesystem::path membership = "/proc/self/cgroup";
    std::filesystem::path machine = "/proc/meminfo";
};

/// Bytes that this process can still allocate: the machine's available memory, or less if the process' memory
/// cgroup, or one above it, has a limit. Files in the page cache count as available. Nothing if the kernel
/// does not report it.
std::optional<std::int64_t> memory_at_hand(const MemorySources& sources = {});

/// Checks the available memory before allocating a size that comes from an external file.
/// @param what names what needs the memory: "FILE: dataset 'x'"
/// @param values number of values, of element_bytes each
/// @throws UsageError if they do not fit into the available memory
void check_memory_at_hand(const std::string& what, std::int64_t values, std::int64_t element_bytes);

/// The same check for a number of bytes.
void check_memory_at_hand(const std::string& what, std::int64_t bytes);

}  // namespace dtrain
