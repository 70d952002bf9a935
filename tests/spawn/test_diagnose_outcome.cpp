// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: reports as dtrain-launch writes them, cut to what counts, and what they say, by hand.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "spawn/diagnose_outcome.hpp"

namespace dtrain::spawning {
namespace {

class Diagnosis : public testing::Test {
  protected:
    void report(const std::string& text) const { replace_file_without_sync(folder_.report(), text, 0600); }
    void messages(const std::string& text) const {
        replace_file_without_sync(folder_.messages(), text, 0600);
    }

    void failures(const std::vector<Failure>& in_turn) const {
        for (const auto& [rank, message] : in_turn) {
            folder_.write_failure(rank, message);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

    TemporaryFolder temporary_;
    SpawnFolder folder_{temporary_.path()};
};

constexpr const char* killed =
    R"({"cause": {"rank": 1, "how": "exited", "exit_code": null, "signal": "SIGSEGV"}})";
constexpr const char* exited = R"({"cause": {"rank": 0, "how": "exited", "exit_code": 5, "signal": null}})";

TEST_F(Diagnosis, RanksThatReturned) {
    folder_.write_result(1, "b");
    folder_.write_result(0, "");
    EXPECT_EQ(diagnose(0, 2, folder_), Outcome(Results{"", "b"}));
}

TEST_F(Diagnosis, ARankThatDidNotComeToTheCall) {
    folder_.write_result(0, "a");
    EXPECT_EQ(diagnose(0, 2, folder_),
              Outcome(Failure{1,
                              "rank 1 of 2 ended without running the function: main() "
                              "must come to the same call of spawn() there"}));
}

TEST_F(Diagnosis, ARankThatWasKilledOrExited) {
    report(killed);
    EXPECT_EQ(diagnose(139, 2, folder_), Outcome(Failure{1, "rank 1 of 2 was killed by SIGSEGV"}));
    report(exited);
    EXPECT_EQ(diagnose(5, 2, folder_), Outcome(Failure{0, "rank 0 of 2 ended with exit code 5"}));
}

TEST_F(Diagnosis, TheRankThatIsBlamedSaidWhy) {
    report(killed);
    failures({{0, "the others are gone"}, {1, "no such file"}});
    EXPECT_EQ(diagnose(1, 2, folder_), Outcome(Failure{1, "rank 1 of 2: no such file"}));
}

TEST_F(Diagnosis, TheFirstThatSaidWhyWhereTheBlamedOneDidNot) {
    report(exited);
    failures({{2, "the first"}, {1, "the second"}});
    EXPECT_EQ(diagnose(1, 3, folder_), Outcome(Failure{2, "rank 2 of 3: the first"}));
}

TEST_F(Diagnosis, ALauncherThatStartedNothing) {
    EXPECT_EQ(diagnose(2, 1, folder_), Outcome(Failure{-1,
                                                       "the 1 rank of spawn() did not run to the end (status "
                                                       "2): dtrain-launch said nothing"}));
    messages("warning: a\ndtrain-launch: no mpirun in PATH\n");
    for (const char* unreadable : {"", "{", "{}", R"({"cause": null})", R"({"cause": {"rank": "x"}})"}) {
        report(unreadable);
        EXPECT_EQ(diagnose(2, 4, folder_), Outcome(Failure{-1,
                                                           "the 4 ranks of spawn() did not run to the end "
                                                           "(status 2): dtrain-launch: no mpirun in PATH"}));
    }
}

}  // namespace
}  // namespace dtrain::spawning
