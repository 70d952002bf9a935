// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: texts written out by hand; what a pseudo terminal received.
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "launch/supervise/status_line.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;

TEST(StatusText, Sentences) {
    EXPECT_EQ(status_text({.size = 4, .up = 4, .elapsed = 12s, .log_dir = "log"}, 80),
              "4 of 4 ranks up, 12 s, logs in log");
    EXPECT_EQ(status_text({.size = 4, .up = 1, .done = 3, .elapsed = 61s, .log_dir = "/a"}, 80),
              "1 of 4 ranks up, 3 done, 1 min 01 s, logs in /a");
    EXPECT_EQ(status_text({.size = 128, .elapsed = 26h + 3min + 59s, .log_dir = "log"}, 80),
              "0 of 128 ranks up, 26 h 03 min, logs in log");
}

TEST(StatusText, IsCutToTheTerminal) {
    const JobProgress status{.size = 4, .up = 4, .elapsed = 12s, .log_dir = "Größe"};
    EXPECT_EQ(status_text(status, 10), "4 of 4 ran");
    EXPECT_EQ(status_text(status, 0), "");
    EXPECT_EQ(status_text(status, 34), "4 of 4 ranks up, 12 s, logs in Gr") << "not half an ö";
    EXPECT_EQ(status_text(status, 35), "4 of 4 ranks up, 12 s, logs in Grö");
}

class StatusLineTest : public testing::Test {
  protected:
    StatusLineTest() {
        winsize size{.ws_row = 24, .ws_col = 50};
        int outer = -1, inner = -1;
        EXPECT_EQ(::openpty(&outer, &inner, nullptr, nullptr, &size), 0);
        outer_ = FileDescriptor(outer);
        inner_ = FileDescriptor(inner);
    }
    std::string received() const {
        std::string bytes(1000, '\0');
        pollfd readable{outer_.get(), POLLIN, 0};
        const auto got =
            ::poll(&readable, 1, 100) == 1 ? ::read(outer_.get(), bytes.data(), bytes.size()) : 0;
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
        return bytes;
    }
    FileDescriptor outer_, inner_;
};

TEST_F(StatusLineTest, ChangesInPlaceAndLeavesNothing) {
    StatusLine line(inner_.get());
    ASSERT_TRUE(line.on_terminal());
    EXPECT_EQ(line.width(), 49U);
    line.show("one more");
    EXPECT_EQ(received(), "\rone more");
    line.show("two");
    EXPECT_EQ(received(), "\rtwo     ");
    line.show("two");
    EXPECT_EQ(received(), "");
    line.clear();
    EXPECT_EQ(received(), "\r   \r");
    line.clear();
    EXPECT_EQ(received(), "");
}

TEST(StatusLine, WithoutATerminalNothingIsWritten) {
    const auto pipe = Pipe::open();
    for (const int no_terminal : {pipe.write_end.get(), -1}) {
        StatusLine line(no_terminal);
        EXPECT_FALSE(line.on_terminal());
        line.show("text");
        line.clear();
    }
    pollfd readable{pipe.read_end.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 0), 0);
}

}  // namespace
}  // namespace dtrain::launch
