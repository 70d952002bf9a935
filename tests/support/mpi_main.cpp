// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// main() of the tests that run under mpirun: GoogleTest inside one MPI session. Rank 0 prints the usual
// report, the other ranks only what fails; the exit status is the worst of all ranks. An exception in a test
// of one rank ends all.
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "support/precondition.hpp"
#include "support/rank_report.hpp"

namespace {

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
    dtrain::tests::report_as_rank(session.world().rank(), session.world().size(),
                                  [] { dtrain::abort_job(1); });
    const int status = RUN_ALL_TESTS();
    return static_cast<int>(session.world().max(std::int64_t{status}));
}
