// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What the ranks of a test say of it: rank 0 the usual report, the other ranks only what fails.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dtrain::tests {

/// The others wait for a rank whose test threw: nobody knows what it would have done next.
class EndsAllAfterAnException : public testing::EmptyTestEventListener {
  public:
    explicit EndsAllAfterAnException(void (*end_all)()) : end_all_(end_all) {}

    void OnTestPartResult(const testing::TestPartResult& result) override {
        const std::string_view message = result.message();
        const bool is_exception =
            message.starts_with("C++ exception") || message.starts_with("Unknown C++ exception");
        if (!result.fatally_failed() || !is_exception) return;
        std::fflush(nullptr);
        end_all_();
    }

  private:
    void (*end_all_)();
};

class FailuresOnly : public testing::EmptyTestEventListener {
  public:
    explicit FailuresOnly(int rank) : rank_(rank) {}

    // GoogleTest cannot be asked for it while it tells a result.
    void OnTestStart(const testing::TestInfo& test) override {
        test_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
    }

    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        fmt::print(stderr, "rank {}: {} failed at {}:{}\n{}\n", rank_, test_,
                   result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
    }

  private:
    int rank_;
    std::string test_ = "?";
};

/// @param end_all ends this rank with an error, and thereby all others
inline void report_as_rank(int rank, int size, void (*end_all)()) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        delete listeners.Release(listeners.default_xml_generator());
        listeners.Append(new FailuresOnly(rank));
    }
    if (size > 1) listeners.Append(new EndsAllAfterAnException(end_all));
}

}  // namespace dtrain::tests
