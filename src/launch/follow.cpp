// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/follow.hpp"

#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/log_files.hpp"
#include "base/ports.hpp"
#include "launch/hello.hpp"
#include "launch/nodes.hpp"
#include "link/key_file.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;

bool is_name_of_log(const fs::path& name) {
    return name.has_filename() && name == name.filename() && name.string().find("log.") != std::string::npos;
}

/// Who may have the port of node 0 when that is no launcher.
std::string port_holder(const Meeting& meeting) {
    const bool here = is_loopback(meeting.head) ||
                      own_names(own_addresses(), {meeting.head}, dtrain::addresses_of).contains(meeting.head);
    if (!here)
        return fmt::format(" (on {} \"ss -ltnp sport = :{}\" tells which)", meeting.head, meeting.port);
    const auto holder = holder_of_port(meeting.port);
    return holder.empty() ? "" : " (" + holder + ")";
}

link::FollowerOptions follower_options(const Meeting& meeting, const link::Hello& hello,
                                       const Options& options, const Environment& environment) {
    auto for_daemon = environment;
    for_daemon.set("DTRAIN_NODE_LOG_DIR", hello.log_dir);
    const auto log_dir = hello.log_dir;
    return {.head = meeting.head,
            .port = meeting.port,
            .key = link::read_or_make_key(link::key_file(environment)),
            .hello = hello,
            .environment = for_daemon,
            .patience = options.start_timeout,
            .welcomed =
                [log_dir](const link::Welcome& welcome) {
                    log_info("{}; logs in {}", part_text(welcome), log_dir);
                },
            .write_last_words =
                [log_dir](const link::LastWords& words) {
                    if (is_name_of_log(words.log)) append_line(fs::path(log_dir) / words.log, words.line);
                },
            .must_leave = {},
            .on_stop = {},
            .holder = [meeting] { return port_holder(meeting); }};
}

}  // namespace

int follow_head(const Meeting& meeting, const link::Hello& hello, const Options& options,
                const Environment& environment) {
    const auto follower = follower_options(meeting, hello, options, environment);
    log_info("waiting for node 0 ({} port {}), which starts the job", meeting.head, meeting.port);
    const auto followed = link::follow(follower);
    if (followed.status != 0)
        write_all(STDERR_FILENO,
                  fmt::format("dtrain-launch: {}\n",
                              followed.text.empty() ? "the job failed; node 0 tells why" : followed.text));
    return followed.status;
}

link::Followed follow_start(const Meeting& meeting, const link::Hello& hello, const Options& options,
                            const Environment& environment, const Leaving& leaving) {
    auto follower = follower_options(meeting, hello, options, environment);
    follower.must_leave = leaving.must_leave;
    follower.on_stop = leaving.on_signal;
    return link::follow(follower);
}

}  // namespace dtrain::launch
