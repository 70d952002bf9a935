// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: ld.so(8): LD_PRELOAD is a list that spaces or colons separate, of which the first is loaded first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/module_file.hpp"
#include "base/trace_mpi_library.hpp"
#include "support/refuses.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using tests::refuses;

constexpr const char* library_variable = "DTRAIN_TRACE_MPI_MODULE";

TEST(TraceMpiLibrary, TheVariableNamesAFile) {
    const tests::TemporaryFolder folder;
    const auto file = (folder.path() / "own.so").string();
    EXPECT_THAT([&] { trace_mpi_library({{library_variable, file}}); }, refuses(file));
    replace_file(file, "");
    EXPECT_EQ(trace_mpi_library({{library_variable, file}}), file);
}

TEST(TraceMpiLibrary, APathThatCannotBePreloadedIsRefused) {
    const tests::TemporaryFolder folder;
    for (const auto* name : {"a b.so", "a:b.so"}) {
        const auto file = (folder.path() / name).string();
        replace_file(file, "");
        EXPECT_THAT([&] { trace_mpi_library({{library_variable, file}}); }, refuses(file));
    }
}

TEST(TraceMpiLibrary, IsLoadedBeforeTheUsersOwn) {
    Environment environment;
    preload_first(environment, "/a.so");
    EXPECT_EQ(environment.get("LD_PRELOAD"), "/a.so");
    preload_first(environment, "/b.so");
    EXPECT_EQ(environment.get("LD_PRELOAD"), "/b.so:/a.so");
}

TEST(FindLibrary, LooksWhereTheLoaderDoes) {
    const auto libc = find_library("libc.so.6");
    ASSERT_TRUE(libc);
    EXPECT_TRUE(libc->is_absolute());
    EXPECT_FALSE(find_library("libof_nobody.so"));
}

}  // namespace
}  // namespace dtrain
