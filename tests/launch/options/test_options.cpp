// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the options that fleetrun and paddle.distributed.launch document, and the rule that options end at
// the first word that is none.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "launch/options/options.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;
using tests::refuses;

using Words = std::vector<std::string>;

Options parsed(Words words, const Environment& environment = {}) {
    const auto result = parse_options(words, environment);
    EXPECT_EQ(result.text, std::nullopt);
    return result.options;
}

TEST(LaunchOptions, Defaults) {
    const auto options = parsed({"train.py"});
    EXPECT_EQ(options.gpus, std::nullopt);
    EXPECT_EQ(options.nproc_per_node, std::nullopt);
    EXPECT_EQ(options.start_port, std::nullopt);
    EXPECT_EQ(options.log_dir, "log");
    EXPECT_EQ(options.run_mode, std::nullopt);
    EXPECT_EQ(options.job_id, "default");
    EXPECT_EQ(options.grace, 10s);
    EXPECT_EQ(options.bind, Binding::automatic);
    EXPECT_EQ(options.dry_run, std::nullopt);
    EXPECT_EQ(options.script, "train.py");
    EXPECT_THAT(options.script_arguments, IsEmpty());
}

TEST(LaunchOptions, EverySpellingWithAndWithoutEqualsSign) {
    struct Case {
        Words names;
        std::string value;
        std::function<std::string(const Options&)> field;
    };
    const std::vector<Case> cases{
        {{"--gpus", "--selected_gpus", "--selected-gpus", "--devices"},
         "0,2",
         [](const Options& o) { return o.gpus.value_or("?"); }},
        {{"--nproc_per_node", "--nproc-per-node"},
         "3",
         [](const Options& o) { return std::to_string(o.nproc_per_node.value_or(-1)); }},
        {{"--log_dir", "--log-dir"}, "my logs", [](const Options& o) { return o.log_dir; }},
        {{"--run_mode", "--run-mode"},
         "collective",
         [](const Options& o) { return to_string(o.run_mode.value_or(RunMode::rpc)); }},
        {{"--job_id", "--job-id"}, "night", [](const Options& o) { return o.job_id; }},
        {{"--start_port", "--start-port"},
         "6170",
         [](const Options& o) { return std::to_string(o.start_port.value_or(-1)); }},
        {{"--grace"}, "2", [](const Options& o) { return std::to_string(o.grace / 1s); }},
        {{"--bind"}, "none", [](const Options& o) { return to_string(o.bind); }},
    };
    for (const auto& option : cases)
        for (const auto& name : option.names)
            for (const auto& words : {Words{name, option.value, "train.py", "--x"},
                                      Words{name + "=" + option.value, "train.py", "--x"}}) {
                const auto options = parsed(words);
                EXPECT_EQ(option.field(options), option.value) << words[0];
                EXPECT_EQ(options.script, "train.py") << words[0];
                EXPECT_THAT(options.script_arguments, ElementsAre("--x")) << words[0];
            }
}

TEST(LaunchOptions, TheScriptsArgumentsAreItsOwn) {
    const Words own{"--gpus", "9",  "--nproc_per_node=7", "--dry-run", "-h",  "--help",  "--version",
                    "--",     "-1", "--no-such",          "",          "a b", "--x=--y", "--job_id"};
    Words words{"--gpus", "0", "train.py"};
    words.insert(words.end(), own.begin(), own.end());
    const auto options = parsed(words);
    EXPECT_EQ(options.gpus, "0");
    EXPECT_EQ(options.nproc_per_node, std::nullopt);
    EXPECT_EQ(options.dry_run, std::nullopt);
    EXPECT_EQ(options.script, "train.py");
    EXPECT_EQ(options.script_arguments, own);
}

TEST(LaunchOptions, DryRunBeforeTheScriptOnly) {
    EXPECT_EQ(parsed({"--dry-run", "train.py"}).dry_run, PlanForm::table);
    EXPECT_EQ(parsed({"--dry_run", "train.py"}).dry_run, PlanForm::table);
    EXPECT_EQ(parsed({"--dry-run=table", "train.py"}).dry_run, PlanForm::table);
    EXPECT_EQ(parsed({"--dry-run=json", "train.py"}).dry_run, PlanForm::json);
    EXPECT_EQ(parsed({"--gpus", "0", "--dry_run=json", "train.py"}).dry_run, PlanForm::json);
    const auto behind = parsed({"train.py", "--dry-run"});
    EXPECT_EQ(behind.dry_run, std::nullopt);
    EXPECT_THAT(behind.script_arguments, ElementsAre("--dry-run"));
    const auto json_is_the_script = parsed({"--dry-run", "json"});
    EXPECT_EQ(json_is_the_script.dry_run, PlanForm::table);
    EXPECT_EQ(json_is_the_script.script, "json");
    EXPECT_THAT([] { parsed({"--dry-run=xml", "train.py"}); }, refuses("xml"));
}

TEST(LaunchOptions, TwoDashesEndTheOptions) {
    auto options = parsed({"--gpus", "0", "--", "train.py", "--lr", "1"});
    EXPECT_EQ(options.script, "train.py");
    EXPECT_THAT(options.script_arguments, ElementsAre("--lr", "1"));
    options = parsed({"--", "--strange-name", "--", "x"});
    EXPECT_EQ(options.script, "--strange-name");
    EXPECT_THAT(options.script_arguments, ElementsAre("--", "x"));
}

/// What is said of options of dtrain-launch behind the script.
std::vector<std::string> hints(Words words) {
    return parse_options(words, {}).hints;
}

TEST(LaunchOptions, ItsOptionsBehindTheScriptAreTold) {
    EXPECT_THAT(
        hints({"tools/train.py", "--gpus", "0,1", "--lr", "1", "--gpus=2"}),
        ElementsAre("--gpus behind train.py is given to train.py; if dtrain-launch was meant, put it before "
                    "train.py"));
    EXPECT_THAT(
        hints({"train.py", "--nproc-per-node=2", "--dry-run"}),
        ElementsAre(AllOf(HasSubstr("--nproc-per-node, --dry-run behind train.py are given to train.py"),
                          HasSubstr("put them before train.py"))));
    EXPECT_THAT(hints({"train.py", "--lr", "--gpu", "gpus", "--", "-g", "--=1"}), IsEmpty());
    EXPECT_THAT(hints({"--gpus", "0", "train.py", "--gpus", "0"}), IsEmpty());  // meant for both
    EXPECT_THAT(hints({"job.toml", "--report", "page.html"}), IsEmpty());       // job files have one, too
    EXPECT_THAT(hints({"train.py", "--report=page.html"}), testing::SizeIs(1));
}

TEST(LaunchOptions, TheUsageLineNamesTheScript) {
    EXPECT_THAT(*parse_options({"--help"}, {}).text,
                HasSubstr("Usage: dtrain-launch [options] script [script options]\n"));
}

TEST(LaunchOptions, AMissingScriptIsSaid) {
    for (const auto& words : {Words{}, Words{"--gpus", "0"}, Words{"--dry-run"}, Words{"--"}})
        EXPECT_THAT([&] { parsed(words); }, refuses("no training script"));
}

TEST(LaunchOptions, AnEmptyValueBehindEqualsIsSaid) {
    for (const std::string option : {"--gpus=", "--ips=", "--report="})
        for (const auto& words :
             {Words{option, "train.py"}, Words{"--dry-run", option, "train.py"}, Words{option}})
            EXPECT_THAT([&] { parsed(words); }, refuses(option + " has no value"));
    EXPECT_THAT(parsed({"--gpus", "0", "train.py", "--gpus="}).script_arguments, ElementsAre("--gpus="));
    EXPECT_EQ(parsed({"--log_dir", "a=", "train.py"}).log_dir, "a=");
}

TEST(LaunchOptions, AnUnknownOptionIsNamedWithTheNearest) {
    struct Case {
        const char* typed;
        const char* meant;
    };
    for (const auto& wrong : {Case{"--gpu", "--gpus"}, Case{"--nproc_per_nod", "--nproc_per_node"},
                              Case{"--nprocs_per_node", "--nproc_per_node"}, Case{"--logdir", "--log_dir"},
                              Case{"--log_dirs", "--log_dir"}, Case{"--start_prot", "--start_port"},
                              Case{"--slected_gpus", "--selected_gpus"}, Case{"--dryrun", "--dry"}})
        for (const auto& words : {Words{wrong.typed, "1", "train.py"},
                                  Words{"--bind", "none", std::string(wrong.typed) + "=1", "train.py"}})
            EXPECT_THAT([&] { parsed(words); }, refuses("unknown option \"" + std::string(wrong.typed) + "\"",
                                                        "did you mean " + std::string(wrong.meant)));
    EXPECT_THAT(
        [] {
            parsed({"--learning_rate=0.1", "train.py"});
        },
        ThrowsMessage<UsageError>(
            AllOf(HasSubstr("unknown option \"--learning_rate\""), Not(HasSubstr("did you mean")))));
    EXPECT_THAT([] { parsed({"-n", "2", "train.py"}); }, refuses("unknown option \"-n\""));
}

TEST(LaunchOptions, ValuesThatCannotBeAreRefused) {
    struct Case {
        Words words;
        const char* named;
    };
    for (const auto& wrong :
         std::vector<Case>{{{"--nproc_per_node", "two", "train.py"}, "--nproc_per_node"},
                           {{"--nproc_per_node", "2.5", "train.py"}, "--nproc_per_node"},
                           {{"--nproc_per_node", "99999999999", "train.py"}, "--nproc_per_node"},
                           {{"--nproc_per_node=", "train.py"}, "--nproc_per_node"},
                           {{"--start_port", "0", "train.py"}, "--start_port"},
                           {{"--start_port", "65001", "train.py"}, "--start_port"},
                           {{"--start_port", "http", "train.py"}, "--start_port"},
                           {{"--grace", "-1", "train.py"}, "--grace"},
                           {{"--grace", "soon", "train.py"}, "--grace"},
                           {{"--grace", "nan", "train.py"}, "--grace"},
                           {{"--grace", "inf", "train.py"}, "--grace"},
                           {{"--bind", "maybe", "train.py"}, "--bind"},
                           {{"--run_mode", "PS", "train.py"}, "--run_mode PS"},
                           {{"--gpus"}, "--gpus"}})
        EXPECT_THAT([&] { parsed(wrong.words); }, refuses(wrong.named))
            << testing::PrintToString(wrong.words);
}

TEST(LaunchOptions, GraceIsSecondsFromTheOptionOrTheEnvironment) {
    EXPECT_EQ(parsed({"--grace", "0.25", "train.py"}).grace, 250ms);
    EXPECT_EQ(parsed({"--grace", "0", "train.py"}).grace, 0ms);
    EXPECT_EQ(parsed({"train.py"}, {{"DTRAIN_GRACE", "3"}}).grace, 3s);
    EXPECT_EQ(parsed({"--grace=1", "train.py"}, {{"DTRAIN_GRACE", "3"}}).grace, 1s);
    EXPECT_THAT([] { parsed({"train.py"}, {{"DTRAIN_GRACE", "long"}}); }, refuses("DTRAIN_GRACE=long"));
}

TEST(LaunchOptions, HelpAndVersionAreTextsToPrint) {
    for (const char* word : {"-h", "--help"}) {
        const auto help = parse_options({word}, {}).text;
        ASSERT_TRUE(help);
        for (const char* option : {"--gpus", "--nproc_per_node", "--log_dir", "--run_mode", "--start_port",
                                   "--grace", "--bind", "--dry-run", "--job_id"})
            EXPECT_THAT(*help, HasSubstr(option));
    }
    EXPECT_EQ(parse_options({"--version"}, {}).text, std::string("dtrain ") + version + "\n");
}

}  // namespace
}  // namespace dtrain::launch
