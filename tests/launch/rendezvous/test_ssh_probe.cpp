// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: an ssh of our own, which reaches the hosts whose names begin with "up".
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/rendezvous/ssh_probe.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SshProbeTest : public testing::Test {
  protected:
    void make_ssh() const {
        tests::write_bytes(
            folder_ / "ssh",
            "#!/bin/sh\nfor last; do host=$before before=$last; done\necho $host >> \"" +
                (folder_ / "asked").string() +
                "\"\ncase $host in up*) exit 0;; esac\necho \"$host is down\" >&2\nexit 255\n");
        std::filesystem::permissions(folder_ / "ssh", std::filesystem::perms::owner_all);
    }

    /// Asks until every node has answered.
    std::vector<int> reached(SshProbe& probe, const std::vector<int>& wanted, std::size_t answers) const {
        std::vector<int> out;
        const auto answered = [&] {
            std::size_t count = out.size();
            for (const int node : wanted) count += probe.complaint_about(node).empty() ? 0 : 1;
            return count;
        };
        for (int tries = 0; answered() < answers && tries < 500; ++tries) {
            for (const int node : probe.reached(wanted, hosts_)) out.push_back(node);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return out;
    }

    tests::TemporaryFolder folder_;
    std::vector<std::string> hosts_{"here", "up1", "down2", "up3"};
    Environment environment_{{"PATH", folder_.path().string() + ":/usr/bin:/bin"}};
};

TEST_F(SshProbeTest, FindsTheNodesThatSshReachesAndKeepsItsComplaints) {
    make_ssh();
    SshProbe probe(environment_);
    EXPECT_THAT(reached(probe, {1, 2, 3}, 3), UnorderedElementsAre(1, 3));
    EXPECT_EQ(probe.complaint_about(2), "down2 is down");
    EXPECT_EQ(probe.complaint_about(1), "");
    EXPECT_EQ(probe.complaint_about(7), "");
}

TEST_F(SshProbeTest, DoesNotAskAgainAtOnce) {
    make_ssh();
    SshProbe probe(environment_);
    reached(probe, {2}, 1);
    for (int count = 0; count < 5; ++count) EXPECT_THAT(probe.reached({2}, hosts_), IsEmpty());
    EXPECT_EQ(tests::bytes_of(folder_ / "asked"), "down2\n");
}

TEST_F(SshProbeTest, WithoutSshNobodyIsReached) {
    environment_.set("PATH", folder_.path().string());
    SshProbe probe(environment_);
    EXPECT_THAT(probe.reached({1}, hosts_), IsEmpty());
    EXPECT_EQ(probe.complaint_about(1), "");
}

TEST(SshCommand, AsksNothing) {
    EXPECT_THAT(ssh_command("a", "true"),
                ElementsAre("ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", "a", "true"));
}

}  // namespace
}  // namespace dtrain::launch
