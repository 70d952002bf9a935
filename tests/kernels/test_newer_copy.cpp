// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: two strings that are copied as NewerCopy says, in all sequences of 5 uses of either copy: each use
// finds what was written last.
#include <string>

#include <gtest/gtest.h>

#include "kernels/newer_copy.hpp"

namespace dtrain::kernels {
namespace {

struct TwoStrings {
    NewerCopy newer;
    std::string host;
    std::string device;
    int copies = 0;

    std::string& used_on_host() {
        if (newer.needs_download()) copy(device, host);
        return host;
    }
    std::string& used_on_device() {
        if (newer.needs_upload()) copy(host, device);
        return device;
    }

  private:
    void copy(const std::string& from, std::string& to) {
        to = from;
        newer.note_alike();
        ++copies;
    }
};

TEST(NewerCopy, IsFoundOnBothSidesInAnyOrder) {
    constexpr int uses = 5;
    constexpr int ways = 4;  // read or write, on the host or on the device
    for (int sequence = 0; sequence < ways * ways * ways * ways * ways; ++sequence) {
        TwoStrings two{NewerCopy::on_host(), "first", "outdated"};
        std::string expected = "first";
        for (int use = 0, rest = sequence; use < uses; ++use, rest /= ways) {
            const bool on_host = rest % 2 == 0;
            auto& used = on_host ? two.used_on_host() : two.used_on_device();
            ASSERT_EQ(used, expected) << sequence << " use " << use;
            if (rest % ways < 2) continue;
            used += std::to_string(use);
            expected = used;
            on_host ? two.newer.note_written_on_host() : two.newer.note_written_on_device();
        }
    }
}

TEST(NewerCopy, IsTransferredOnce) {
    TwoStrings two{NewerCopy::on_device(), "outdated", "first"};
    EXPECT_EQ(two.used_on_device(), "first");
    EXPECT_EQ(two.copies, 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(two.used_on_host(), "first");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(two.used_on_device(), "first");
    EXPECT_EQ(two.copies, 1);
}

}  // namespace
}  // namespace dtrain::kernels
