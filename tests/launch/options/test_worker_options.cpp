// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the options of dtrain-worker --help; what they mean, its own tests show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/worker_options.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using tests::refuses;

TEST(WorkerOptionsOfAJob, WhatIsUsualIsNotSaid) {
    EXPECT_THAT(worker_options("/l", {}), ElementsAre("--log_dir", "/l", "--grace", "10"));
}

TEST(WorkerOptionsOfAJob, EverythingElseIs) {
    EXPECT_THAT(worker_options("/l", {.log_overwrite = true,
                                      .trust_log_dir = true,
                                      .grace = 500ms,
                                      .hang_timeout = cluster::HangLimit{90s, false},
                                      .on_hang = OnHang::dump,
                                      .trace_mpi = true,
                                      .tee = "0,2-3",
                                      .wrap = "perf record -o 'a b.%r'",
                                      .wrap_ranks = "1",
                                      .log_max_size = 100 << 20,
                                      .log_mode = 0640}),
                ElementsAre("--log_dir", "/l", "--grace", "0.5", "--log-mode", "0640", "--log_overwrite",
                            "--trust-log-dir", "--log-max-size", "104857600", "--show", "0,2-3", "--wrap",
                            "perf record -o 'a b.%r'", "--wrap-ranks", "1", "--hang-timeout", "90",
                            "--dump-operations", "--trace-mpi"));
}

TEST(WorkerOptionsOfAJob, QuietIsStrongerThanTee) {
    EXPECT_THAT(worker_options("/l", {.tee = "1", .quiet = true}),
                ElementsAre("--log_dir", "/l", "--grace", "10", "--show", "none"));
}

TEST(WorkerOptionsOfAJob, WhatNoWorkerWouldTakeIsRefused) {
    struct Case {
        Options options;
        const char* named;
    };
    for (const auto& wrong :
         {Case{{.tee = "most"}, "--tee: \"most\""}, Case{{.tee = "x", .quiet = true}, "--tee: \"x\""},
          Case{{.wrap = "a 'b"}, "--wrap: the quote ' in \"a 'b\""},
          Case{{.wrap_ranks = ""}, "--wrap-ranks: \"\""}})
        EXPECT_THAT([&] { worker_options("/l", wrong.options); }, refuses(wrong.named));
}

TEST(WorkerOptionsOfAJob, AWrapperMustBeThere) {
    const Environment environment{{"PATH", "/usr/bin:/bin"}};
    for (const auto* wrapper : {"env A=1", "/bin/sh -c 'exec \"$@\"' sh", "", "tool-of-%h"})
        EXPECT_NO_THROW(refuse_missing_wrapper({.wrap = wrapper}, environment)) << wrapper;
    EXPECT_NO_THROW(refuse_missing_wrapper({}, environment));
    EXPECT_THAT([&] { refuse_missing_wrapper({.wrap = "nothere -x"}, environment); },
                refuses("--wrap: cannot execute \"nothere\""));
}

}  // namespace
}  // namespace dtrain::launch
