// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the entries that the test made; a link to itself, which nobody can read.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/paths_in.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::IsEmpty;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

TEST(PathsIn, AreThoseOfAFolder) {
    const tests::TemporaryFolder folder;
    tests::write_bytes(folder / "file", "");
    std::filesystem::create_directory(folder / "folder");
    std::filesystem::create_symlink("nowhere", folder / "link");
    const auto all = UnorderedElementsAre(folder / "file", folder / "folder", folder / "link");
    EXPECT_THAT(paths_in(folder.path()), all);
    EXPECT_THAT(all_paths_in(folder.path()), all);
    for (const char* no_folder : {"none", "file", "link"}) {
        EXPECT_THAT(paths_in(folder / no_folder), IsEmpty());
        EXPECT_THAT(all_paths_in(folder / no_folder), IsEmpty());
    }
}

TEST(PathsIn, OfAFolderThatCannotBeRead) {
    const tests::TemporaryFolder folder;
    const auto loop = folder / "loop";
    std::filesystem::create_symlink(loop, loop);
    EXPECT_THAT(paths_in(loop), IsEmpty());
    EXPECT_THAT(
        [&] { all_paths_in(loop); },
        ThrowsMessage<UsageError>("cannot read " + loop.string() + ": Too many levels of symbolic links"));
}

}  // namespace
}  // namespace dtrain
