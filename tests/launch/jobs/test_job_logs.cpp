// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a launcher of the test's own, which ends as soon as it has said what its job's ranks are.
#include <array>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/jobs/job_view.hpp"
#include "support/temporary_folder.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::launch {
namespace {

constexpr int job_status = 3;

std::string question_from(const FileDescriptor& client) {
    std::string question;
    std::array<char, 64> piece;
    pollfd readable{client.get(), POLLIN, 0};
    while (!question.ends_with('\n') && ::poll(&readable, 1, -1) > 0) {
        const auto got = ::recv(client.get(), piece.data(), piece.size(), 0);
        if (got <= 0) break;
        question.append(piece.data(), static_cast<std::size_t>(got));
    }
    return question;
}

/// Answers `status`, tells those who have asked for the job's end before, and is gone.
void end_after_the_view(FileDescriptor listener, const JobView& view) {
    FileDescriptor waits_for_end;
    for (;;) {
        pollfd readable{listener.get(), POLLIN, 0};
        if (::poll(&readable, 1, -1) <= 0) continue;
        auto client = transport::accept_from(listener);
        const auto question = question_from(client);
        if (question == "status\n") {
            if (waits_for_end.valid())
                write_all(waits_for_end.get(), "{\"status\":" + std::to_string(job_status) + "}\n");
            listener.reset();
            write_all(client.get(), to_json(view) + "\n");
            return;
        }
        waits_for_end = std::move(client);
    }
}

TEST(ShowLogs, WhoFollowsLearnsHowAJobEndedThatEndsAtOnce) {
    const tests::TemporaryFolder folder;
    const auto log = folder / "workerlog.0", socket = folder / "control";
    std::ofstream(log) << "loss 0.5\n";
    const JobView view{.state = "running",
                       .up = 1,
                       .ranks = {{.role = "worker", .host = host_name(), .state = "running", .log = log}}};
    std::thread launcher(end_after_the_view, transport::listen_at_path(socket), view);
    testing::internal::CaptureStdout();
    int status = 0;
    EXPECT_NO_THROW(status = show_logs({.job = "train", .socket = socket, .size = 1}, {.follow = true}));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "loss 0.5\n");
    EXPECT_EQ(status, job_status);
    launcher.join();
}

}  // namespace
}  // namespace dtrain::launch
