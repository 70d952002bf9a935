// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::topology {

inline constexpr const char* usual_kernel_log = "/dev/kmsg";

/// An error of a GPU as NVIDIA's driver tells it in the kernel log.
struct Xid {
    int number = 0;
    std::string gpu;   ///< "0000:3b:00"
    std::string text;  ///< the driver's own words behind the number
    friend bool operator==(const Xid&, const Xid&) = default;
};

/// From "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus."; nothing for
/// other lines.
std::optional<Xid> parse_xid(std::string_view line);

/// "Xid 79 of GPU 0000:3b:00: the GPU has fallen off the bus (...)", with what the number means by
/// https://docs.nvidia.com/deploy/xid-errors/ where that is known, and the driver's words.
std::string to_sentence(const Xid& xid);

/// The same without "of GPU 0000:3b:00".
std::string without_gpu(const Xid& xid);

/// Whether the fault was that of a program which used the GPU, so that the next one need not care.
bool is_of_program(const Xid& xid);

/// What a kernel log, open for reading without waits, still has to read.
std::vector<Xid> read_xids(int log);

/// All that the kernel log reaches back to, which is the start of the machine unless it has overwritten that;
/// empty where this process may not read it (kernel.dmesg_restrict).
std::vector<Xid> logged_xids(const std::filesystem::path& kernel_log = usual_kernel_log);

}  // namespace dtrain::topology
