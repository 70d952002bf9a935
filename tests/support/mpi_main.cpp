// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// main() of the tests that run under mpirun: GoogleTest inside one MPI session. Rank 0 prints the usual
// report, the other ranks only what fails; the exit status is the worst of all ranks.
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>

namespace {

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

}  // namespace

int main(int argc, char** argv) {
    const dtrain::MpiSession session;
    testing::InitGoogleTest(&argc, argv);
    if (session.world().rank() != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        delete listeners.Release(listeners.default_xml_generator());
        listeners.Append(new FailuresOnly(session.world().rank()));
    }
    const int status = RUN_ALL_TESTS();
    return static_cast<int>(session.world().max(std::int64_t{status}));
}
