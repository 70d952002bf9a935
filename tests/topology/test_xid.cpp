// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: lines of kernel logs as people post them, and what NVIDIA's list of Xid errors says of the numbers.
#include <gtest/gtest.h>

#include "topology/xid.hpp"

namespace dtrain::topology {
namespace {

TEST(Xid, OfALineOfTheKernelLog) {
    EXPECT_EQ(parse_xid("6,1291,53212345,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has "
                        "fallen off the bus."),
              (Xid{79, "0000:3b:00", "pid=1234, name=python3, GPU has fallen off the bus."}));
    EXPECT_EQ(parse_xid("[  123.4] NVRM: Xid (PCI:0000:5f:00): 13, Graphics SM Warp Exception"),
              (Xid{13, "0000:5f:00", "Graphics SM Warp Exception"}));
    EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:5f:00): 48"), (Xid{48, "0000:5f:00", ""}));
}

TEST(Xid, OtherLinesAreNone) {
    for (const auto* line : {"", "NVRM: Xid", "NVRM: Xid (PCI:0000:5f:00", "NVRM: Xid (PCI:0000:5f:00): x",
                             "NVRM: GPU at PCI:0000:5f:00: GPU-1", "usb 1-1: new device"})
        EXPECT_FALSE(parse_xid(line)) << line;
}

TEST(Xid, SaysWhatItMeans) {
    EXPECT_EQ(
        to_sentence({79, "0000:3b:00", "pid=1234, GPU has fallen off the bus."}),
        "Xid 79 of GPU 0000:3b:00: the GPU has fallen off the bus (pid=1234, GPU has fallen off the bus.)");
    EXPECT_EQ(to_sentence({999, "0000:3b:00", "news"}), "Xid 999 of GPU 0000:3b:00 (news)");
    EXPECT_EQ(to_sentence({95, "0000:3b:00", ""}),
              "Xid 95 of GPU 0000:3b:00: memory error that hits all programs: the GPU has to be reset");
}

}  // namespace
}  // namespace dtrain::topology
