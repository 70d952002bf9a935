// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: TOML 1.0 and the XDG base directory specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/settings.hpp"
#include "support/refuses.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using tests::refuses;

/// "name = value (origin)".
std::vector<std::string> texts(const std::vector<Setting>& settings) {
    std::vector<std::string> out;
    for (const auto& setting : settings)
        out.push_back(setting.name + " = " + setting.value + " (" + setting.origin + ")");
    return out;
}

TEST(SettingsFiles, TheMachinesThenTheUsers) {
    EXPECT_THAT(settings_files({}), ElementsAre("/etc/dtrain.toml"));
    EXPECT_THAT(settings_files({{"HOME", "/home/u"}}),
                ElementsAre("/etc/dtrain.toml", "/home/u/.config/dtrain.toml"));
    EXPECT_THAT(settings_files({{"HOME", "/home/u"}, {"XDG_CONFIG_HOME", "/conf"}}),
                ElementsAre("/etc/dtrain.toml", "/conf/dtrain.toml"));
    EXPECT_THAT(settings_files({{"HOME", "/home/u"}, {"XDG_CONFIG_HOME", ""}}),
                ElementsAre("/etc/dtrain.toml", "/home/u/.config/dtrain.toml"))
        << "empty is as good as unset";
}

TEST(Settings, TextsNumbersAndSwitches) {
    EXPECT_THAT(
        texts(parse_settings("log_dir = 'my logs'\ngrace = 2.5\nmax_restart = 3\nlog_overwrite = true\n"
                             "quiet = false\n# nothing\n",
                             "file")),
        testing::UnorderedElementsAre("log_dir = my logs (file)", "grace = 2.5 (file)",
                                      "max_restart = 3 (file)", "log_overwrite = true (file)",
                                      "quiet = false (file)"));
    EXPECT_THAT(parse_settings("", "file"), IsEmpty());
}

TEST(Settings, WhatIsNoSettingIsNamedByFileAndLine) {
    EXPECT_THAT([] { parse_settings("grace = 1\nlog_dir =\n", "/etc/x"); }, refuses("/etc/x:2: "));
    for (const char* value : {"[1, 2]", "{ a = 1 }", "1979-05-27"})
        EXPECT_THAT([&] { parse_settings(std::string("\ngrace = ") + value, "/etc/x"); },
                    refuses("/etc/x:2: grace must be a text, number or true/false"))
            << value;
    EXPECT_THAT([] { parse_settings("[table]\na = 1\n", "/etc/x"); }, refuses("/etc/x:1: table"));
}

TEST(Settings, ThoseOfAllFilesThatExistWeakestFirst) {
    const tests::TemporaryFolder folder;
    const auto first = folder / "first.toml", second = folder / "second.toml";
    tests::write_bytes(first, "grace = 1\n");
    tests::write_bytes(second, "grace = 2\n");
    EXPECT_THAT(texts(read_settings({first, folder / "none.toml", second})),
                ElementsAre("grace = 1 (" + first.string() + ")", "grace = 2 (" + second.string() + ")"));
}

}  // namespace
}  // namespace dtrain::launch
