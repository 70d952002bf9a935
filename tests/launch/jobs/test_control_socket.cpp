// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: control_socket.hpp: the launcher answers its own user and root, whatever the folder of its socket
// allows.
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "launch/jobs/control_socket.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::launch {
namespace {

/// Whether a process of that user gets an answer to a question.
bool is_answered(ControlSocket& control, uid_t user) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setuid(user) != 0) ::_exit(2);
        const auto socket = transport::connect_to_path(control.path());
        char answer = 0;
        ::send(socket.get(), "summary\n", 8, MSG_NOSIGNAL);
        ::_exit(::recv(socket.get(), &answer, 1, 0) == 1 ? 0 : 1);
    }
    const JobState job(1);
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
        constexpr int look_at_child_ms = 20;
        pollfd readable{control.fd(), POLLIN, 0};
        if (::poll(&readable, 1, look_at_child_ms) > 0) control.serve(job, false);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ControlSocket, AnswersItsOwnUser) {
    ControlSocket control;
    EXPECT_TRUE(is_answered(control, ::geteuid()));
    const auto folder = control.path().substr(0, control.path().rfind('/'));
    struct stat info {};
    ASSERT_EQ(::stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST(ControlSocket, AnswersNobodyElse) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
    ControlSocket control;
    const auto folder = control.path().substr(0, control.path().rfind('/'));
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(control.path().c_str(), 0777), 0);
    constexpr uid_t other = 65534;
    EXPECT_FALSE(is_answered(control, other));
    EXPECT_TRUE(is_answered(control, 0));
}

}  // namespace
}  // namespace dtrain::launch
