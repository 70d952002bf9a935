// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the page promises: what it calls done is parsed or set, what it refuses is refused with one line.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/env_table.hpp"
#include "base/files.hpp"
#include "launch/options/compatibility.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::refuses;

/// A value that the option takes and that is not its default.
std::string sample(const OptionRow& row) {
    if (!row.choices.empty()) return std::string(row.choices.back());
    if (row.name == "log-mode") return "640";
    if (row.value == "SIZE") return "5M";
    return std::to_string(std::min(2, row.max));
}

std::vector<std::string> typed(const OptionRow& row, std::string_view name) {
    const auto option = "--" + std::string(name);
    if (row.value.empty()) return {option, "train.py"};
    if (!row.alone.empty()) return {option + "=" + sample(row), "train.py"};
    return {option, sample(row), "train.py"};
}

TEST(Compatibility, OptionsThatAreDoneTakeTheirValues) {
    for (const auto& row : option_table()) {
        if (row.answer != Answer::done) continue;
        for (const auto& name : names_of(row)) {
            const auto parsed = parse_options(typed(row, name), {});
            if (row.field.index() == 0) {
                EXPECT_TRUE(parsed.text) << name << " has no field and prints nothing";
                continue;
            }
            EXPECT_NE(value_text(parsed.options, row), value_text(Options{}, row)) << name;
            EXPECT_EQ(parsed.origins.at(std::string(row.name)), "command line") << name;
            EXPECT_EQ(parsed.options.script, "train.py") << name;
        }
    }
}

TEST(Compatibility, OptionsThatAreRefusedSayWhy) {
    int refused = 0;
    for (const auto& row : option_table()) {
        if (row.answer != Answer::later && row.answer != Answer::refused) continue;
        ++refused;
        EXPECT_FALSE(row.note.empty()) << row.name;
        for (const auto& name : names_of(row))
            EXPECT_THAT([&] { parse_options(typed(row, name), {}); },
                        refuses("--" + std::string(row.name), std::string(row.note)))
                << name;
    }
    EXPECT_GT(refused, 8);
}

TEST(Compatibility, OptionsWithoutEffectAreTakenWithANotice) {
    for (const auto& row : option_table()) {
        if (row.answer != Answer::no_effect) continue;
        const auto parsed = parse_options(typed(row, row.name), {});
        EXPECT_EQ(parsed.options.script, "train.py") << row.name;
        ASSERT_EQ(parsed.notices.size(), 1U) << row.name;
        EXPECT_THAT(parsed.notices.front(), HasSubstr("--" + std::string(row.name) + " has no effect"));
    }
}

TEST(Compatibility, OverridingVariablesBeatTheCommandLineWithANotice) {
    for (const auto& row : option_table()) {
        if (row.overridden_by.empty() || row.answer != Answer::done) continue;
        const Environment environment{
            {std::string(row.overridden_by), row.value.empty() ? "1" : sample(row)}};
        const auto parsed = parse_options({"train.py"}, environment);
        EXPECT_NE(value_text(parsed.options, row), value_text(Options{}, row)) << row.overridden_by;
        ASSERT_EQ(parsed.notices.size(), 1U) << row.overridden_by;
        EXPECT_THAT(parsed.notices.front(),
                    AllOf(HasSubstr("args " + std::string(row.name) + " will be overridden"),
                          HasSubstr(std::string(row.overridden_by))));
        auto inside = environment;
        inside.set("DTRAIN_JOB_TOKEN", "of another job");
        EXPECT_EQ(parse_options({"train.py"}, inside).options, parse_options({"train.py"}, {}).options)
            << row.overridden_by << " of a rank of another job";
    }
}

TEST(Compatibility, EveryNameIsThereOnce) {
    std::set<std::string_view> seen;
    for (const auto& row : option_table())
        for (const auto& name : names_of(row)) EXPECT_TRUE(seen.insert(name).second) << name;
    std::set<std::string_view> variables;
    for (const auto& variable : paddle_variables())
        EXPECT_TRUE(variables.insert(variable.name).second || !variable.given) << variable.name;
}

TEST(Compatibility, VariablesThatAreDoneAreThoseThatDtrainKnows) {
    for (const auto& variable : paddle_variables()) {
        const auto* known = find_env_variable(variable.name);
        if (variable.answer != Answer::done) {
            EXPECT_FALSE(variable.note.empty()) << variable.name;
            continue;
        }
        ASSERT_NE(known, nullptr) << variable.name;
        const auto wanted = variable.given ? EnvUse::written : EnvUse::read;
        EXPECT_TRUE(known->use == wanted || known->use == EnvUse::both) << variable.name;
    }
    // And the other way round: what dtrain has of Paddle stands in the page.
    for (const auto& row : env_table()) {
        if (row.group != EnvGroup::paddle && row.group != EnvGroup::paddle_cloud) continue;
        const auto variables = paddle_variables();
        const bool in_page = std::any_of(variables.begin(), variables.end(),
                                         [&](const PaddleVariable& one) { return one.name == row.name; });
        const auto options = option_table();
        const bool overrides = std::any_of(options.begin(), options.end(), [&](const OptionRow& option) {
            return option.overridden_by == row.name || option.preset_by == row.name;
        });
        EXPECT_TRUE(in_page || overrides) << row.name;
    }
}

TEST(Compatibility, PageInDocsIsTheTable) {
    const auto page = read_file(DTRAIN_SOURCE_ROOT "/docs/compatibility.md");
    ASSERT_TRUE(page);
    EXPECT_EQ(*page, compatibility_markdown()) << "run: ninja update-docs";
}

}  // namespace
}  // namespace dtrain::launch
