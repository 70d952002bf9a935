// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the lines that are written into a file that stands for the kernel log, before and after.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "worker/xid_watch.hpp"

namespace dtrain::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using topology::Xid;

class XidWatchTest : public testing::Test {
  protected:
    void log(const std::string& lines) const { std::ofstream(path_, std::ios::app) << lines; }

    const tests::TemporaryFolder folder_;
    const std::filesystem::path path_ = folder_ / "kmsg";
};

TEST_F(XidWatchTest, TellsWhatCameSince) {
    log("6,1,1,-;NVRM: Xid (PCI:0000:3b:00): 13, before\n");
    XidWatch watch(path_);
    EXPECT_THAT(watch.take(), IsEmpty());
    log("6,2,2,-;usb 1-1: new device\n6,3,3,-;NVRM: Xid (PCI:0000:3b:00): 79, first\n"
        "6,4,4,-;NVRM: Xid (PCI:0000:5f:00): 45, second\n");
    EXPECT_THAT(watch.take(), ElementsAre(Xid{79, "0000:3b:00", "first"}, Xid{45, "0000:5f:00", "second"}));
    EXPECT_THAT(watch.take(), IsEmpty()) << "each is told once";
}

TEST_F(XidWatchTest, IsSilentWhereThereIsNoLog) {
    XidWatch watch(folder_ / "none");
    EXPECT_THAT(watch.take(), IsEmpty());
}

}  // namespace
}  // namespace dtrain::worker
