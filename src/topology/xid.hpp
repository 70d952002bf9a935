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

/// A GPU error that NVIDIA's driver wrote to the kernel log.
struct Xid {
    int number = 0;
    std::string gpu;   ///< "0000:3b:00"
    std::string text;  ///< the driver's text after the number
    friend bool operator==(const Xid&, const Xid&) = default;
};

/// Parses "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus."; nothing for
/// other lines.
std::optional<Xid> parse_xid(std::string_view line);

/// "Xid 79 of GPU 0000:3b:00: the GPU has fallen off the bus (...)", with the number's meaning according to
/// https://docs.nvidia.com/deploy/xid-errors/ if known, and the driver's text.
std::string to_sentence(const Xid& xid);

/// Like to_sentence(), without "of GPU 0000:3b:00".
std::string without_gpu(const Xid& xid);

/// Whether the fault is that of the program that used the GPU, so that it does not concern the next program.
bool is_of_program(const Xid& xid);

/// Reads the remaining Xids from a kernel log, which must be opened non-blocking.
std::vector<Xid> read_xids(int log);

/// All Xids in the kernel log, which begins at boot unless older records were overwritten; empty if this
/// process may not read it (kernel.dmesg_restrict).
std::vector<Xid> logged_xids(const std::filesystem::path& kernel_log = usual_kernel_log);

}  // namespace dtrain::topology
