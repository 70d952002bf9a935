// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// main() of the tests that run under mpirun: GoogleTest inside one MPI session. Rank 0 prints the usual
// report, the other ranks only what fails; the exit status is the worst of all ranks. An exception in a test
// of one rank ends all.
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "support/precondition.hpp"

namespace {

/// The others wait for a rank whose test threw: nobody knows what it would have done next.
class EndsAllAfterAnException : public testing::EmptyTestEventListener {
  public:
    void OnTestPartResult(const testing::TestPartResult& result) override {
        const std::string_view message = result.message();
        const bool is_exception =
            message.starts_with("C++ exception") || message.starts_with("Unknown C++ exception");
        if (!result.fatally_failed() || !is_exception) return;
        std::fflush(nullptr);
        dtrain::abort_job(1);
    }
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

constexpr int skipped = 77;  // so meson counts it

/// On all ranks when one has a reason; rank 0 tells it.
bool must_skip(const dtrain::Communicator& world) {
    if (dtrain::tests::precondition() == nullptr) return false;
    try {
        dtrain::throw_together<dtrain::Error>(world, dtrain::tests::precondition()());
        return false;
    } catch (const dtrain::Error& why) {
        if (world.rank() == 0) fmt::print(stderr, "skipped: {}\n", why.what());
        return true;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const dtrain::MpiSession session;
    testing::InitGoogleTest(&argc, argv);
    if (must_skip(session.world())) return skipped;
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (session.world().rank() != 0) {
        delete listeners.Release(listeners.default_result_printer());
        delete listeners.Release(listeners.default_xml_generator());
        listeners.Append(new FailuresOnly(session.world().rank()));
    }
    if (session.world().size() > 1) listeners.Append(new EndsAllAfterAnException);
    const int status = RUN_ALL_TESTS();
    return static_cast<int>(session.world().max(std::int64_t{status}));
}
