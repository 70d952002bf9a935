// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: paths that can and cannot be written, made by hand.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "metrics/outputs.hpp"

namespace dtrain::metrics {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const Outputs& outputs) {
    try {
        check_outputs(outputs);
        return "";
    } catch (const UsageError& refused) {
        return refused.what();
    }
}

TEST(Outputs, ThatCanBeWrittenAreNotTouched) {
    const TemporaryFolder folder;
    const auto path = std::filesystem::path(folder.path());
    replace_file(path / "old.jsonl", "old\n");
    EXPECT_EQ(refusal({.metrics = path / "old.jsonl",
                       .tensorboard = path / "tb",
                       .page = path / "new.html",
                       .record = {}}),
              "");
    EXPECT_EQ(read_file(path / "old.jsonl"), "old\n");
    EXPECT_FALSE(std::filesystem::exists(path / "new.html"));
    EXPECT_TRUE(std::filesystem::is_directory(path / "tb"));
}

TEST(Outputs, ThatCannotBeWrittenAreNamedWithTheReason) {
    const TemporaryFolder folder;
    const auto path = std::filesystem::path(folder.path());
    replace_file(path / "file", "");
    EXPECT_THAT(refusal({.metrics = path / "none" / "m", .tensorboard = {}, .page = {}, .record = {}}),
                AllOf(HasSubstr("--metrics"), HasSubstr("none/m"), HasSubstr("No such file")));
    EXPECT_THAT(refusal({.metrics = path, .tensorboard = {}, .page = {}, .record = {}}),
                AllOf(HasSubstr("--metrics"), HasSubstr("directory")));
    EXPECT_THAT(refusal({.metrics = {}, .tensorboard = path / "file", .page = {}, .record = {}}),
                AllOf(HasSubstr("--tensorboard"), HasSubstr("file")));
    EXPECT_THAT(refusal({.metrics = {}, .tensorboard = {}, .page = path, .record = {}}),
                AllOf(HasSubstr("--report"), HasSubstr("no regular file")));
}

}  // namespace
}  // namespace dtrain::metrics
