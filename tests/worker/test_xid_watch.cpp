// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the lines that are written into a file that stands for the kernel log, before and after.
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/stat.h>

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
    EXPECT_EQ(watch.fd(), -1);
}

TEST_F(XidWatchTest, WakesItsReaderWhenSomethingIsLogged) {
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    const FileDescriptor kernel(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    XidWatch watch(path_);
    const auto is_readable = [&] {
        pollfd source{watch.fd(), POLLIN, 0};
        return ::poll(&source, 1, 0) == 1;
    };
    EXPECT_FALSE(is_readable());
    log("6,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, first\n");
    EXPECT_TRUE(is_readable());
    EXPECT_THAT(watch.take(), ElementsAre(Xid{79, "0000:3b:00", "first"}));
    EXPECT_FALSE(is_readable());
    watch.end();
    EXPECT_EQ(watch.fd(), -1);
}

}  // namespace
}  // namespace dtrain::worker
