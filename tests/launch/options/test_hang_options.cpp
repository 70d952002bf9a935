// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the guide says of --hang-timeout and --on-hang (docs/hangs.md).
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/hang_options.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using cluster::HangLimit;

TEST(HangOptions, WithoutAnyAHangIsReported) {
    EXPECT_EQ(hang_limit_of({}), (HangLimit{60s, true}));
    EXPECT_EQ(on_hang_of({}), OnHang::report);
}

TEST(HangOptions, ALimitThatWasChosenStopsTheJob) {
    EXPECT_EQ(hang_limit_of({.hang_timeout = HangLimit{5s, false}}), (HangLimit{5s, false}));
    EXPECT_EQ(on_hang_of({.hang_timeout = HangLimit{5s, false}}), OnHang::stop);
    EXPECT_EQ(on_hang_of({.hang_timeout = cluster::learned_hang_limit}), OnHang::stop);
}

TEST(HangOptions, WhatFollowsCanBeChosen) {
    for (const auto what : {OnHang::stop, OnHang::restart, OnHang::report, OnHang::dump}) {
        EXPECT_EQ(on_hang_of({.on_hang = what}), what);
        EXPECT_EQ(on_hang_of({.hang_timeout = HangLimit{5s, false}, .on_hang = what}), what);
        EXPECT_EQ(stops_a_job(what), what == OnHang::stop || what == OnHang::restart);
    }
}

TEST(HangOptions, RestartsNeedANumber) {
    EXPECT_THROW(refuse_restarts_without_number({.on_hang = OnHang::restart}, false), UsageError);
    EXPECT_THROW(refuse_restarts_without_number({.max_restart = 0, .on_hang = OnHang::restart}, false),
                 UsageError);
    refuse_restarts_without_number({.max_restart = 1, .on_hang = OnHang::restart}, false);
    refuse_restarts_without_number({.on_hang = OnHang::restart}, true);
    refuse_restarts_without_number({.on_hang = OnHang::stop}, false);
}

}  // namespace
}  // namespace dtrain::launch
