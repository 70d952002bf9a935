// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: all that was appended is the predecessors, in the order in which they came about, and the log.
#include <csignal>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "programs.hpp"
#include "support/temporary_folder.hpp"
#include "worker/rotating_log.hpp"

namespace dtrain::worker {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::ThrowsMessage;

class RotatingLogTest : public testing::Test {
  protected:
    RotatingLog make(std::uintmax_t max_size, LogPolicy policy = {}) const {
        policy.max_size = max_size;
        return RotatingLog(log_, policy);
    }
    std::string content() const { return read_file(log_).value_or("(none)"); }
    std::string predecessor() const { return read_file(log_.string() + ".1").value_or("(none)"); }

    const tests::TemporaryFolder folder_;
    const std::filesystem::path log_ = folder_ / "workerlog.0";
};

TEST_F(RotatingLogTest, ChangesFilesBetweenLines) {
    auto log = make(10);
    log.append("one\ntwo\n");
    EXPECT_EQ(content(), "one\ntwo\n");
    EXPECT_EQ(predecessor(), "(none)");
    log.append("abc\n");
    EXPECT_EQ(predecessor(), "one\ntwo\n");
    EXPECT_EQ(content(), "abc\n");
    log.append("12345\n");  // exactly full
    EXPECT_EQ(content(), "abc\n12345\n");
    log.append("x");
    EXPECT_EQ(predecessor(), "abc\n12345\n");
    EXPECT_EQ(content(), "x");
    EXPECT_EQ(log.bytes_taken(), 19U);
    EXPECT_EQ(log.first_error(), 0);
}

TEST_F(RotatingLogTest, AnUnfinishedLineMovesOn) {
    auto log = make(10);
    log.append("one\nbegin");
    EXPECT_EQ(content(), "one\nbegin") << "shown at once";
    log.append("ning\n");
    EXPECT_EQ(predecessor(), "one\n");
    EXPECT_EQ(content(), "beginning\n");
}

TEST_F(RotatingLogTest, ALineThatNoFileHoldsIsCut) {
    auto log = make(10);
    log.append("ab\n0123456789012345678901234\nxy\n");
    EXPECT_EQ(predecessor(), "0123456789");
    EXPECT_EQ(content(), "01234\nxy\n");
}

TEST_F(RotatingLogTest, NothingIsLostOrTorn) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::filesystem::remove(log_);
        std::mt19937 random(seed);
        constexpr std::uintmax_t limit = 500;
        auto log = make(limit);
        std::string all, kept;
        log.on_rotation([&] {
            const auto old = predecessor();
            ASSERT_LE(old.size(), limit);
            ASSERT_THAT(old, EndsWith("\n"));
            kept += old;
        });
        for (int round = 0; round < 300; ++round) {
            std::string piece;
            for (auto lines = random() % 4; lines > 0; --lines)
                piece += std::string(random() % 120, static_cast<char>('a' + round % 26)) + "\n";
            piece.resize(piece.size() - std::min<std::size_t>(piece.size(), random() % 3));
            if (piece.empty() || round % 7 == 0) piece += "\n";
            all += piece;
            log.append(piece);
            ASSERT_LE(content().size(), limit);
        }
        EXPECT_EQ(kept + content(), all) << "seed " << seed;
    }
}

TEST_F(RotatingLogTest, WhatIsThereAlreadyStaysUnlessItIsToBeOverwritten) {
    ASSERT_TRUE(write_all(open_log(log_).get(), "from an earlier job\n"));
    {
        auto log = make(30);
        log.append("0123456789\n");
        EXPECT_EQ(predecessor(), "from an earlier job\n");
        EXPECT_EQ(content(), "0123456789\n");
    }
    auto log = make(30, {.overwrite = true});
    EXPECT_EQ(predecessor(), "(none)");
    EXPECT_EQ(content(), "");
    for (int line = 0; line < 7; ++line) log.append("0123456789\n");
    EXPECT_EQ(predecessor(), "0123456789\n0123456789\n");
    EXPECT_EQ(content(), "0123456789\n") << "only the beginning overwrites";
}

TEST_F(RotatingLogTest, ADeletedLogIsMadeAnew) {
    auto log = make(10);
    log.append("one\n");
    std::filesystem::remove(log_);
    log.append("0123456\n");
    EXPECT_EQ(content(), "0123456\n");
}

TEST_F(RotatingLogTest, AllFilesHaveThePermissionsOfThePolicy) {
    const auto mode_of = [](const std::filesystem::path& path) {
        struct stat info {};
        ::stat(path.c_str(), &info);
        return info.st_mode & 07777;
    };
    const mode_t umask_before = ::umask(0077);
    auto log = make(10, {.mode = 0640});
    log.append("012345678\n012345678\n");
    EXPECT_EQ(mode_of(log_), 0640U);
    EXPECT_EQ(mode_of(log_.string() + ".1"), 0640U);
    EXPECT_EQ(LogPolicy{}.mode, 0600U);
    open_log(log_, {});
    EXPECT_EQ(mode_of(log_), 0600U) << "also where another job chose otherwise";
    ::umask(umask_before);
}

TEST_F(RotatingLogTest, ALinkToNowhereIsAllowed) {
    std::filesystem::create_symlink("/dev/null", log_);
    struct stat before {
    }, after{};
    ASSERT_EQ(::stat("/dev/null", &before), 0);
    open_log(log_, {.overwrite = true});
    ASSERT_EQ(::stat("/dev/null", &after), 0);
    EXPECT_EQ(before.st_mode, after.st_mode);
}

TEST_F(RotatingLogTest, AFolderThatIsNoneIsNamed) {
    EXPECT_THAT([&] { open_log(folder_ / "none" / "workerlog.0", {}); },
                ThrowsMessage<UsageError>(HasSubstr("none/workerlog.0: No such file")));
}

TEST_F(RotatingLogTest, TheLossOfAFullDiskIsToldInTheLog) {
    // A limit on the size of files stands for the disk.
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit whole{};
    ::getrlimit(RLIMIT_FSIZE, &whole);
    auto log = make(100'000);
    const rlimit small{.rlim_cur = 10, .rlim_max = whole.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    log.append("012345\n");
    log.append("abcdefgh\n");  // six bytes too many
    log.append("all of this\n");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &whole), 0);
    ::signal(SIGXFSZ, SIG_DFL);
    EXPECT_EQ(log.first_error(), EFBIG);
    EXPECT_EQ(content(), "012345\nabc");
    log.append("again\n");
    log.append("and again\n");
    EXPECT_EQ(content(),
              "012345\nabc\n[dtrain-worker: 18 bytes of output were lost here: File too large]\nagain\nand "
              "again\n");
}

}  // namespace
}  // namespace dtrain::worker
