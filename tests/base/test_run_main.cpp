// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the statuses and lines that dtrain/run_main.hpp promises.
#include <stdexcept>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/run_main.hpp>

namespace dtrain {
namespace {

struct End {
    int status;
    std::string errors;
    friend bool operator==(const End&, const End&) = default;
};

std::ostream& operator<<(std::ostream& out, const End& end) {
    return out << end.status << ": " << end.errors;
}

End end_of(const std::function<int()>& body) {
    testing::internal::CaptureStderr();
    const int status = run_main("/opt/site/bin/train", body);
    return {status, testing::internal::GetCapturedStderr()};
}

TEST(RunMain, ReturnsWhatTheBodyReturns) {
    EXPECT_EQ(end_of([] { return 0; }), (End{0, ""}));
    EXPECT_EQ(end_of([] { return 7; }), (End{7, ""}));
}

TEST(RunMain, WhatIsThrownIsOneLineWithTheProgramsName) {
    EXPECT_EQ(end_of([]() -> int { throw UsageError("--epochs no is no number"); }),
              (End{2, "train: --epochs no is no number\n"}));
    EXPECT_EQ(end_of([]() -> int { throw std::runtime_error("no loss"); }), (End{1, "train: no loss\n"}));
    EXPECT_EQ(end_of([]() -> int { throw 5; }), (End{1, "train: an exception that is no std::exception\n"}));
}

TEST(RunMain, HidesSecrets) {
    const auto end = end_of([]() -> int { throw std::runtime_error("http://me:hunter2@example.org"); });
    EXPECT_EQ(end.errors.find("hunter2"), std::string::npos) << end.errors;
}

}  // namespace
}  // namespace dtrain
