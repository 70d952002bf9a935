// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what worker/rank_error_file.hpp promises.
#include <filesystem>
#include <optional>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "worker/rank_error_file.hpp"

namespace dtrain::worker {
namespace {

class RankErrorFileTest : public testing::Test {
  protected:
    Environment environment() const { return {{"TMPDIR", folder_.path().string()}}; }

    tests::TemporaryFolder folder_;
};

TEST_F(RankErrorFileTest, IsInAFolderOfItsOwnThatGoesWithIt) {
    std::optional<RankErrorFile> file(std::in_place, environment(), "/nowhere");
    const auto own = file->path().parent_path();
    EXPECT_EQ(own.parent_path(), folder_.path());
    EXPECT_FALSE(std::filesystem::exists(file->path()));
    struct stat info {};
    ASSERT_EQ(::stat(own.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    EXPECT_NE(own, RankErrorFile(environment(), "/nowhere").path().parent_path());
    replace_file(file->path(), R"({"message": "words"})");
    EXPECT_EQ(file->read().error.value().message, "words");
    file.reset();
    EXPECT_FALSE(std::filesystem::exists(own));
}

TEST_F(RankErrorFileTest, IsBesideTheLogWhereTemporaryFilesHaveNoPlace) {
    const RankErrorFile file(Environment{{"TMPDIR", "/no/such/folder"}}, folder_.path());
    EXPECT_EQ(file.path().parent_path().parent_path(), folder_.path());
    EXPECT_THROW(RankErrorFile(Environment{{"TMPDIR", "/no/such/folder"}}, "/no/log"), std::system_error);
}

TEST_F(RankErrorFileTest, IsNamedToDtrainAndToTorch) {
    const RankErrorFile file(environment(), "/nowhere");
    Environment program;
    file.announce(program);
    EXPECT_EQ(program.get("DTRAIN_ERROR_FILE"), file.path().string());
    EXPECT_EQ(program.get("TORCHELASTIC_ERROR_FILE"), file.path().string());
}

TEST_F(RankErrorFileTest, TheUsersVariableForTorchIsKept) {
    const RankErrorFile file(environment(), "/nowhere");
    Environment program{{"TORCHELASTIC_ERROR_FILE", "/mine.json"}};
    file.announce(program);
    EXPECT_EQ(program.get("DTRAIN_ERROR_FILE"), file.path().string());
    EXPECT_EQ(program.get("TORCHELASTIC_ERROR_FILE"), "/mine.json");
}

TEST_F(RankErrorFileTest, TheVariablesOfARankThatStartsThisJobAreReplaced) {
    const RankErrorFile file(environment(), "/nowhere");
    Environment program{{"DTRAIN_ERROR_FILE", "/outer.json"}, {"TORCHELASTIC_ERROR_FILE", "/outer.json"}};
    file.announce(program);
    EXPECT_EQ(program.get("DTRAIN_ERROR_FILE"), file.path().string());
    EXPECT_EQ(program.get("TORCHELASTIC_ERROR_FILE"), file.path().string());
}

}  // namespace
}  // namespace dtrain::worker
