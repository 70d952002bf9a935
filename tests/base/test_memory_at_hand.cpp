// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files in the formats of the kernel's documentation (proc(5), cgroup-v2,
// admin-guide/cgroup-v1/memory), made by hand, and the sums worked out from them.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/available_memory.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using tests::message_of;

constexpr const char* meminfo = "MemTotal:       24000000 kB\nMemFree:  5 kB\nMemAvailable:   20000000 kB\n";
constexpr std::int64_t of_the_machine = std::int64_t{20'000'000} * 1024;

class MemoryAtHand : public testing::Test {
  protected:
    void write(const std::string& file, const std::string& content) const {
        std::filesystem::create_directories((folder_ / file).parent_path());
        tests::write_bytes(folder_ / file, content);
    }
    std::optional<std::int64_t> found() const {
        return available_memory({.cgroups = folder_ / "cgroup",
                                 .membership = folder_ / "membership",
                                 .machine = folder_ / "meminfo"});
    }
    tests::TemporaryFolder folder_;
};

TEST_F(MemoryAtHand, IsTheMachinesWithoutALimit) {
    write("meminfo", meminfo);
    EXPECT_EQ(found(), of_the_machine);
    write("membership", "0::/job\n");
    write("cgroup/job/memory.events", "");
    write("cgroup/job/memory.max", "max\n");
    write("cgroup/job/memory.current", "1000\n");
    EXPECT_EQ(found(), of_the_machine);
}

TEST_F(MemoryAtHand, IsTheLeastThatACgroupLeaves) {
    write("meminfo", meminfo);
    write("membership", "0::/job/step\n");
    write("cgroup/job/step/memory.events", "");
    write("cgroup/job/step/memory.max", "9000000\n");
    write("cgroup/job/step/memory.current", "1000000\n");
    EXPECT_EQ(found(), 8'000'000);
    write("cgroup/job/memory.max", "5000000\n");
    write("cgroup/job/memory.current", "4000000\n");
    write("cgroup/job/memory.stat", "anon 1500000\ninactive_file 2000000\nactive_file 500000\n");
    EXPECT_EQ(found(), 3'500'000);
    write("cgroup/job/memory.current", "6000000\n");
    write("cgroup/job/memory.stat", "anon 6000000\ninactive_file 0\nactive_file 0\n");
    EXPECT_EQ(found(), 0);
}

TEST_F(MemoryAtHand, OfVersion1) {
    write("membership", "4:memory:/job\n");
    write("cgroup/memory/job/memory.oom_control", "");
    write("cgroup/memory/job/memory.limit_in_bytes", "7000000\n");
    write("cgroup/memory/job/memory.usage_in_bytes", "2000000\n");
    write("cgroup/memory/job/memory.stat",
          "inactive_file 1\ntotal_inactive_file 300000\ntotal_active_file 0\n");
    write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("cgroup/memory/memory.usage_in_bytes", "5000000\n");
    EXPECT_EQ(found(), 5'300'000);
}

TEST_F(MemoryAtHand, IsNotKnownWithoutTheKernelsFiles) {
    EXPECT_EQ(found(), std::nullopt);
    write("meminfo", "MemAvailable: many kB\n");
    EXPECT_EQ(found(), std::nullopt);
}

TEST(CheckMemory, RefusesMoreThanThereIs) {
    EXPECT_NO_THROW(check_memory_at_hand("f: x", 1000, 8));
    const auto much = std::int64_t{1} << 55;
    EXPECT_THAT(message_of([&] { check_memory_at_hand("f: x", much, 4); }),
                testing::StartsWith("f: x has 36028797018963968 values, more than memory holds"));
    EXPECT_EQ(message_of([&] { check_memory_at_hand("f: x", std::numeric_limits<std::int64_t>::max(), 4); }),
              "f: x has 9223372036854775807 values, more than memory holds");
    EXPECT_NO_THROW(check_memory_at_hand("f", 1000));
    EXPECT_THAT(message_of([&] { check_memory_at_hand("f", much); }),
                testing::StartsWith("f is larger than the memory: it takes "));
}

}  // namespace
}  // namespace dtrain
