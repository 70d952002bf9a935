// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: bash itself, which sources the script and completes words with it; the table of options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/options/option_table.hpp"
#include "launch/options/shell_completion.hpp"

namespace dtrain::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

/// What bash offers for the last word of a command line.
std::vector<std::string> offered(const std::string& before, const std::string& word) {
    const auto script = completion_script("bash") + "COMP_WORDS=(dtrain-launch " + before + " '" + word +
                        "')\n" + "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_dtrain_launch\n" +
                        "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    ProcessOptions options;
    options.argv = {"bash", "-c", script};
    const auto run = run_and_capture(options, std::chrono::seconds(20));
    EXPECT_EQ(run.err, "");
    std::vector<std::string> words;
    for (const auto& line : split(run.out, '\n'))
        if (!line.empty()) words.push_back(line);
    return words;
}

TEST(BashCompletion, OffersOptionsThatWork) {
    EXPECT_THAT(offered("", "--nproc"), UnorderedElementsAre("--nproc_per_node"));
    EXPECT_THAT(offered("", "--"), IsSupersetOf({"--gpus", "--selected_gpus", "--server_num", "--help"}));
    EXPECT_THAT(offered("", "--"), Not(Contains("--xpus")));
}

TEST(BashCompletion, OffersTheWordsOfAnOptionWithChoices) {
    EXPECT_THAT(offered("--run_mode", "ps"), UnorderedElementsAre("ps", "ps-heter"));
    EXPECT_THAT(offered("--bind", ""), UnorderedElementsAre("auto", "none"));
    EXPECT_THAT(offered("--gpus", ""), IsEmpty());
}

TEST(BashCompletion, OffersValuesBehindAnEqualsSign) {
    EXPECT_THAT(offered("--run_mode =", "ps"), UnorderedElementsAre("ps", "ps-heter"));
    EXPECT_THAT(offered("--dry-run", "="), UnorderedElementsAre("table", "json"));
    EXPECT_THAT(offered("--dry-run", "tab"), IsEmpty());
}

TEST(BashCompletion, OffersFilesToACommandThatTakesThem) {
    const std::string file = DTRAIN_SOURCE_ROOT "/docs/elastic.md";
    EXPECT_THAT(offered("compare --output", file.substr(0, file.size() - 4)), UnorderedElementsAre(file));
    EXPECT_THAT(offered("compare", "--o"), UnorderedElementsAre("--output"));
    EXPECT_THAT(offered("status", file.substr(0, file.size() - 4)), IsEmpty());
}

TEST(ZshCompletion, HasEveryOptionThatWorks) {
    const auto script = completion_script("zsh");
    EXPECT_THAT(script, HasSubstr("#compdef dtrain-launch fleetrun"));
    for (const auto& row : option_table()) {
        // The next word is no value of an option like --dry-run[=json].
        const auto argument = "'--" + std::string(row.name) +
                              (row.value.empty()   ? "["
                               : row.alone.empty() ? "=["
                                                   : "=-[");
        EXPECT_EQ(script.find(argument) != std::string::npos, row.answer == Answer::done) << row.name;
    }
}

TEST(ManualPage, HasEveryOptionThatWorks) {
    const auto page = manual_page();
    EXPECT_THAT(page, HasSubstr(".TH DTRAIN-LAUNCH 1"));
    EXPECT_THAT(page, HasSubstr("\\fB\\-\\-nproc_per_node\\fR \\fIN\\fR"));
    EXPECT_THAT(page, HasSubstr("\\fB\\-\\-dry\\-run\\fR"));
    EXPECT_THAT(page, Not(HasSubstr("xpus")));
}

}  // namespace
}  // namespace dtrain::launch
