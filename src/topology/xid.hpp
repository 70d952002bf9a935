// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::topology {

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

}  // namespace dtrain::topology
