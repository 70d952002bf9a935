// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dtrain {

/// Where the kernel says how much memory there is; folders made by hand in tests.
struct MemorySources {
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::filesystem::path membership = "/proc/self/cgroup";
    std::filesystem::path machine = "/proc/meminfo";
};

/// Bytes that this process can still get: what the machine has to give, or less where the process' memory
/// cgroup, or one above it, has a limit. Files in the page cache are no obstacle. Nothing when the kernel
/// does not say.
std::optional<std::int64_t> memory_at_hand(const MemorySources& sources = {});

/// Before memory is taken whose size somebody else's file tells.
/// @param values of element_bytes each @param what needs them: "FILE: dataset 'x'"
/// @throws UsageError when they are more than are at hand
void check_memory_at_hand(const std::string& what, std::int64_t values, std::int64_t element_bytes);

/// The same for something of that many bytes.
void check_memory_at_hand(const std::string& what, std::int64_t bytes);

}  // namespace dtrain
