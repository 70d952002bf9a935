// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Open MPI's documented hostfile format (repeated lines add up, as mpirun was seen to count them) and
// hand-worked examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

namespace dtrain::cluster {
namespace {

using Hosts = std::vector<HostSlots>;

TEST(Hostfile, ReadsEverySpelling) {
    EXPECT_EQ(parse_hostfile("# nodes\n"
                             "a slots=4  # first\n"
                             "\n"
                             "b:2\r\n"
                             "  c.example.org\n"
                             "d slots = 3 max_slots=6\n"
                             "user@e max-slots=2 slots=2\n"
                             "192.0.2.7:8\n"
                             "fe80::1\n"
                             "[fe80::2]:5"),
              (Hosts{{"a", 4},
                     {"b", 2},
                     {"c.example.org", 1},
                     {"d", 3},
                     {"user@e", 2},
                     {"192.0.2.7", 8},
                     {"fe80::1", 1},
                     {"[fe80::2]", 5}}));
    EXPECT_EQ(parse_hostfile(""), Hosts{});
    EXPECT_EQ(parse_hostfile("\n # only comments\n"), Hosts{});
}

TEST(Hostfile, PbsNodefileAddsUpInOrderOfFirstAppearance) {
    EXPECT_EQ(parse_hostfile("n2\nn1\nn2\nn2\nn1 slots=2\n"), (Hosts{{"n2", 3}, {"n1", 3}}));
}

TEST(Hostfile, ErrorsNameTheLine) {
    for (const char* wrong : {"b slots=0", "b slots=x", "b slots=", "b slots", "b slot=2", "b:x", "b:-1",
                              "b:2000000", "b;c", "-Fevil.conf", "-oProxyCommand:2", "u@-x", "-l@b", "b..c",
                              "[b]:2", "b slots=99999999999", "a slots=1000000"}) {
        SCOPED_TRACE(wrong);
        try {
            parse_hostfile(std::string("a\n# comment\n") + wrong + "\n");
            ADD_FAILURE() << "accepted";
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("line 3"));
            EXPECT_THAT(error.what(), testing::HasSubstr(wrong));
        }
    }
    EXPECT_THROW(parse_hostfile("= = ="), UsageError);
}

TEST(Hostfile, WritesWhatItReads) {
    const Hosts hosts{{"a", 4}, {"b", 1}};
    EXPECT_EQ(format_hostfile(hosts), "a slots=4\nb slots=1\n");
    EXPECT_EQ(parse_hostfile(format_hostfile(hosts)), hosts);
}

}  // namespace
}  // namespace dtrain::cluster
