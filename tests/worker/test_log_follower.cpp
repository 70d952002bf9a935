// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the bytes that the test appends to the file.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "programs.hpp"
#include "support/temporary_folder.hpp"
#include "worker/log_follower.hpp"
#include "worker/rotating_log.hpp"

namespace dtrain::worker {
namespace {

std::string random_bytes(std::size_t count) {
    std::mt19937 random(1797);
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

bool polls(int fd, short what) {
    pollfd source{fd, what, 0};
    return ::poll(&source, 1, 0) == 1 && (source.revents & what) != 0;
}

class LogFollowerTest : public testing::Test {
  protected:
    LogFollowerTest() {
        ::signal(SIGPIPE, SIG_IGN);
        append("from an earlier job\n");
    }
    ~LogFollowerTest() override { ::signal(SIGPIPE, SIG_DFL); }

    void append(std::string_view bytes) { EXPECT_TRUE(write_all(log_.get(), bytes)); }

    /// What a supervisor does in its loop, until there is nothing to do.
    static std::size_t work(LogFollower& follower) {
        std::size_t pieces = 0;
        if (polls(follower.growth_fd(), POLLIN)) follower.note_growth();
        while (follower.wants_to_write() && polls(follower.console_fd(), POLLOUT)) {
            follower.write_piece();
            ++pieces;
        }
        return pieces;
    }

    const tests::TemporaryFolder folder_;
    FileDescriptor log_ = open_log(folder_ / "workerlog.0");
    Pipe console_ = Pipe::open();
};

TEST_F(LogFollowerTest, BeginsAtTheEndOfTheFile) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    EXPECT_FALSE(follower.wants_to_write());
    EXPECT_FALSE(polls(follower.growth_fd(), POLLIN));
    append("new\n");
    EXPECT_TRUE(wait_readable(follower.growth_fd()));
    work(follower);
    EXPECT_FALSE(follower.wants_to_write());
    follower.drain();
    console_.write_end.reset();
    EXPECT_EQ(read_to_end(console_.read_end.get()), "new\n");
}

TEST_F(LogFollowerTest, ShowsLinesAsTheyCome) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    for (const std::string piece : {"one\n", "half", " a line\n", "\n", "four\n"}) {
        append(piece);
        EXPECT_TRUE(wait_readable(follower.growth_fd()));
        work(follower);
        std::string shown(100, '\0');
        const auto got = ::read(console_.read_end.get(), shown.data(), shown.size());
        EXPECT_EQ(shown.substr(0, static_cast<std::size_t>(got)), piece);
    }
}

TEST_F(LogFollowerTest, LinesAreNotSplitWhereProgramsMix) {
    LogFollower follower(folder_ / "workerlog.0", Console::of(console_.write_end.get()), {.by_line = true});
    const auto shown_after = [&](std::string_view piece) {
        append(piece);
        EXPECT_TRUE(wait_readable(follower.growth_fd()));
        work(follower);
        std::string shown(100, '\0');
        if (!polls(console_.read_end.get(), POLLIN)) return std::string();
        const auto got = ::read(console_.read_end.get(), shown.data(), shown.size());
        return shown.substr(0, static_cast<std::size_t>(got));
    };
    EXPECT_EQ(shown_after("one\ntw"), "one\n");
    EXPECT_EQ(shown_after("o\n"), "two\n");
    EXPECT_EQ(follower.ms_to_unfinished_line(), -1);
    EXPECT_EQ(shown_after("\r 10 %"), "\r") << "a progress bar begins its line anew";
    EXPECT_EQ(shown_after("\r 20 %"), " 10 %\r");
    EXPECT_GE(follower.ms_to_unfinished_line(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(follower.ms_to_unfinished_line() + 1));
    EXPECT_EQ(follower.ms_to_unfinished_line(), 0);
    follower.note_growth();
    work(follower);
    follower.drain();
    console_.write_end.reset();
    EXPECT_EQ(read_to_end(console_.read_end.get()), " 20 %")
        << "a line that does not go on is shown all the same";
}

TEST_F(LogFollowerTest, PassesBytesExactlyThroughASlowPipe) {
    const auto bytes = random_bytes(300'000);  // several pipes full
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    std::string shown;
    std::thread reader([&] { shown = read_to_end(console_.read_end.get()); });
    for (std::size_t at = 0; at < bytes.size(); at += 7777) {
        append(std::string_view(bytes).substr(at, 7777));
        work(follower);
    }
    follower.drain();
    console_.write_end.reset();
    reader.join();
    EXPECT_EQ(shown.size(), bytes.size());
    EXPECT_TRUE(shown == bytes);
}

TEST_F(LogFollowerTest, AFullPipeNeitherBlocksNorLosesAnything) {
    const auto bytes = random_bytes(200'000);
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    append(bytes);
    EXPECT_GT(work(follower), 1U);  // ends although nobody reads
    EXPECT_TRUE(follower.wants_to_write());
    EXPECT_FALSE(polls(console_.write_end.get(), POLLOUT));
    std::string shown;
    std::thread reader([&] { shown = read_to_end(console_.read_end.get()); });
    follower.drain();
    console_.write_end.reset();
    reader.join();
    EXPECT_TRUE(shown == bytes);
}

TEST_F(LogFollowerTest, DrainShowsWhatNobodyHasNoticedYet) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    append("last words");
    follower.drain();
    console_.write_end.reset();
    EXPECT_EQ(read_to_end(console_.read_end.get()), "last words");
}

TEST_F(LogFollowerTest, AReaderThatIsGoneIsGivenUp) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    console_.read_end.reset();
    append(random_bytes(1'000'000));
    ASSERT_TRUE(wait_readable(follower.growth_fd()));
    follower.note_growth();
    EXPECT_TRUE(follower.wants_to_write());
    follower.write_piece();
    EXPECT_FALSE(follower.wants_to_write());
    append("more");
    follower.note_growth();
    EXPECT_FALSE(follower.wants_to_write());
    follower.drain();
    EXPECT_FALSE(follower.wants_to_write());
}

TEST_F(LogFollowerTest, AReaderThatLeavesInTheMiddleOfADrainIsGivenUp) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get());
    append(random_bytes(1'000'000));
    std::thread reader([&] {
        // Far less than there is, and a pipe holds 64 KiB: the drain cannot be over.
        std::string some(100'000, '\0');
        EXPECT_GT(::read(console_.read_end.get(), some.data(), some.size()), 0);
        console_.read_end.reset();
    });
    follower.drain();
    reader.join();
    EXPECT_FALSE(follower.wants_to_write());
}

TEST_F(LogFollowerTest, APrefixStandsBeforeEachLine) {
    LogFollower follower(folder_ / "workerlog.0", console_.write_end.get(), "[3] ");
    append("one\ntwo\nthr");
    ASSERT_TRUE(wait_readable(follower.growth_fd()));
    work(follower);
    append("ee\n" + std::string(5000, 'x') + "\nno end");
    work(follower);
    EXPECT_FALSE(follower.wants_to_write());
    follower.drain();
    console_.write_end.reset();
    const std::string first(4096 - 5, 'x'), rest(5000 - first.size(), 'x');
    EXPECT_EQ(read_to_end(console_.read_end.get()),
              "[3] one\n[3] two\n[3] three\n[3] " + first + "\n[3] " + rest + "\n[3] no end\n");
}

/// A log that changes its file every few lines, and what a follower with this prefix shows of it.
std::string shown_of_rotating(const std::filesystem::path& path, const std::string& prefix,
                              const std::vector<std::string>& pieces, bool poll_each_time) {
    auto console = Pipe::open();
    RotatingLog log(path, {.max_size = 100});
    LogFollower follower(path, console.write_end.get(), prefix);
    log.on_rotation([&] { follower.note_rotation(); });
    for (const auto& piece : pieces) {
        log.append(piece);
        if (polls(follower.growth_fd(), POLLIN)) follower.note_growth();
        while (poll_each_time && follower.wants_to_write()) follower.write_piece();
    }
    follower.drain();
    console.write_end.reset();
    return read_to_end(console.read_end.get());
}

TEST_F(LogFollowerTest, LinesAreShownInPiecesThatAPseudoTerminalPassesOnWhole) {
    std::string lines;
    for (int number = 0; number < 1000; ++number) lines += "loss of step " + std::to_string(number) + "\n";
    const std::string long_line(3000, 'x');
    const std::string text = lines + long_line + "\n" + lines;
    for (const std::string prefix : {"", "[3] "}) {
        std::vector<std::string> pieces;
        const auto write = [&](std::string_view piece) {
            pieces.emplace_back(piece);
            return true;
        };
        LogFollower follower(folder_ / "workerlog.0", {.fd = console_.write_end.get(), .write = write},
                             {.prefix = prefix, .by_line = true});
        append(text);
        ASSERT_TRUE(wait_readable(follower.growth_fd()));
        work(follower);
        follower.drain();
        std::istringstream source(text);
        std::string expected, shown;
        for (std::string line; std::getline(source, line);) expected += prefix + line + "\n";
        for (const auto& piece : pieces) {
            EXPECT_EQ(piece.back(), '\n');
            EXPECT_TRUE(piece.size() <= 2048 || piece.starts_with(prefix + long_line)) << piece;
            shown += piece;
        }
        EXPECT_EQ(shown, expected);
        EXPECT_NE(shown.find("\n" + prefix + long_line + "\n"), std::string::npos);
        EXPECT_EQ(std::ranges::count(shown, '\n'), 2001);
    }
}

TEST_F(LogFollowerTest, FollowsALogThatChangesItsFile) {
    std::vector<std::string> pieces;
    std::string all, prefixed;
    std::mt19937 random(5);
    for (int line = 0; line < 300; ++line) {
        const auto text = std::string(random() % 60, static_cast<char>('a' + line % 26));
        all += text + "\n";
        prefixed += "[12] " + text + "\n";
    }
    for (std::size_t at = 0; at < all.size();) {
        pieces.push_back(all.substr(at, 1 + random() % 40));  // lines come in parts
        at += pieces.back().size();
    }
    EXPECT_EQ(shown_of_rotating(folder_ / "bytes", "", pieces, true), all);
    EXPECT_EQ(shown_of_rotating(folder_ / "lines", "[12] ", pieces, true), prefixed);
}

TEST_F(LogFollowerTest, WhatABoundedLogNoLongerHasIsNotShown) {
    const std::vector<std::string> pieces{std::string(80, 'a') + "\n", std::string(80, 'b') + "\n",
                                          std::string(80, 'c') + "\n", std::string(80, 'd') + "\n"};
    EXPECT_EQ(
        shown_of_rotating(folder_ / "bytes", "", pieces, false),
        "\n[dtrain-worker: 162 bytes are not shown, the console is too slow]\n" + pieces[2] + pieces[3]);
}

TEST_F(LogFollowerTest, AsksForTimeBeforeABoundedLogDeletesWhatIsNotShown) {
    RotatingLog log(folder_ / "bounded", {.max_size = 10});
    LogFollower follower(folder_ / "bounded", console_.write_end.get());
    log.on_rotation([&] { follower.note_rotation(); });
    EXPECT_FALSE(follower.needs_time());
    log.append("01234567\n");
    EXPECT_FALSE(follower.needs_time()) << "two files can hold more";
    log.append("abcdefgh\n");
    EXPECT_TRUE(follower.needs_time());
    follower.write_piece();
    follower.write_piece();
    EXPECT_FALSE(follower.needs_time());
    EXPECT_EQ(follower.bytes_shown(), 9U);
    log.append("ABCDEFGH\n");
    EXPECT_TRUE(follower.needs_time());
    std::this_thread::sleep_for(LogFollower::timeout);
    EXPECT_FALSE(follower.needs_time()) << "nobody waits for ever for a console that stands still";
}

}  // namespace
}  // namespace dtrain::worker
