// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metrics/run.hpp"

namespace dtrain::metrics {

/// A run with one of everything.
inline Run small_run() {
    return {
        .title = "digits <script>alert(1)</script>",
        .outcome = "failed",
        .began = 1700000000,
        .seconds = 12.5,
        .info = {{"model", "64-10"}},
        .rows = {{"step", 1700000001, 1, 1, 5, {{"loss", 2.5}, {"samples_per_second", 100}}},
                 {"epoch", 1700000002, 2, 1, 10, {{"train_loss", 2}, {"test_accuracy", 0.75}}}},
        .locations = {{.rank = 0, .host = "node1", .gpus = {"GPU-1", "3"}, .cpus = "0-3"},
                      {.rank = 1, .role = "server", .host = "node2", .local_rank = 0, .log = "/log/x"}},
        .times = {{0, 1, 2, 3, 4, 5}, {1, 5, 4, 3, 2, 1}},
        .slow_epochs = {{1, 0, 0.25}, {3, 1, 1.5}, {4, 1, 2}},
        .gpus = {{0, 97.25, 651.5, 3.5e9, 91}, {.rank = 1, .watts = 70}},
        .spans = {{0, 1, 0, 12, "stopped", "stopped by dtrain-launch"},
                  {1, 1, 0.5, 11, "failed", "killed by SIGKILL"}},
        .events = {{3, "rank 1 <b>slow</b>", false}, {11, "rank 1 failed", true}},
        .failure = Failure{"rank 1 on node2: killed by SIGKILL", {{"node", "node2"}}, "out of memory?\n"}};
}

}  // namespace dtrain::metrics
