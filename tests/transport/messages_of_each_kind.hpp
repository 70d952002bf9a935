// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transport/messages.hpp"

namespace dtrain::transport {

inline std::vector<Message> one_of_each() {
    return {
        JoinRequest{.version = "0.1.0",
                    .host_name = "b",
                    .node_count = 2,
                    .address = "10.0.0.2",
                    .wanted_node = 1,
                    .nodes = {"10.0.0.1", "10.0.0.2"},
                    .ranks = {{"0"}, {"1", "2"}, {}},
                    .visible_gpus = "0,1,2",
                    .assignments = {{"DTRAIN_CPUS", "0-3;4-7"}},
                    .log_dir = "/scratch/log",
                    .run_mode = "ps",
                    .program = {"python3", "-u", "train.py", ""},
                    .working_dir = "/home/b",
                    .check = true,
                    .unable = "there is no train.py"},
        JoinRequest{},
        Refused{"another list"},
        Accepted{.node = 1, .nodes = 2, .first_rank = 4, .ranks = 4, .members = "server 1", .by_ssh = true},
        CheckCall{.port = 40123, .nonce = "0a1b"},
        RunOn{.host = "b", .command = "orted -mca a \"b\""},
        UseSsh{},
        UseSsh{"fd00::2"},
        RunDaemon{.run = 2, .command = "orted", .job_token = "abc", .grace_ms = 10'000},
        StopDaemon{2},
        DaemonOutput{.run = 2, .to_stderr = true, .text = "no route\n"},
        DaemonEnded{.run = 2, .status = 143, .reason = "the coordinator is gone"},
        StopJob{15},
        FinalLine{.log = "workerlog.3", .line = "stopped by SIGTERM"},
        JobEnded{.status = 7, .text = "rank 3 failed"},
        Heartbeat{}};
}

}  // namespace dtrain::transport
