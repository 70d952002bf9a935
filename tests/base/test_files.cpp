// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what POSIX says a reader may see.
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

TEST(Files, ReplaceLeavesNothingBehind) {
    const tests::TemporaryFolder folder;
    replace_file(folder / "f", "one");
    replace_file(folder / "f", "two");
    EXPECT_EQ(read_file(folder / "f"), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    EXPECT_THROW(replace_file(folder / "no/f", "x"), std::system_error);
    EXPECT_EQ(read_file(folder / "missing"), std::nullopt);
}

TEST(Files, ReplaceFileGivesTheModeThatIsAsked) {
    const tests::TemporaryFolder folder;
    const auto umask_before = ::umask(0077);
    for (const mode_t mode : {0600, 0644, 0640}) {
        replace_file(folder / "f", "x", mode);
        EXPECT_EQ(static_cast<mode_t>(std::filesystem::status(folder / "f").permissions()), mode);
    }
    replace_file(folder / "g", "x");
    EXPECT_EQ(static_cast<mode_t>(std::filesystem::status(folder / "g").permissions()), 0600U);
    ::umask(umask_before);
}

int entries(const tests::TemporaryFolder& folder) {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

TEST(Files, ReplaceWritesIntoNoFileThatSomebodyElseChose) {
    const tests::TemporaryFolder folder;
    replace_file(folder / "keys", "mine");
    std::filesystem::create_symlink(folder / "keys", folder / ("f.tmp." + std::to_string(::getpid())));
    std::filesystem::create_symlink(folder / "keys", folder / "f");
    replace_file(folder / "f", "one");
    replace_file_without_sync(folder / "f", "two", 0600);
    EXPECT_EQ(read_file(folder / "keys"), "mine");
    EXPECT_EQ(read_file(folder / "f"), "two");
    EXPECT_FALSE(std::filesystem::is_symlink(folder / "f"));
}

TEST(Files, ReplaceThatFailsLeavesWhatWasThere) {
    const tests::TemporaryFolder folder;
    replace_file(folder / "f", "old");
    // A limit on the size of files stands for a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit whole{};
    ::getrlimit(RLIMIT_FSIZE, &whole);
    const rlimit small{.rlim_cur = 10, .rlim_max = whole.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(replace_file(folder / "f", std::string(100, 'x')), std::system_error);
    EXPECT_THROW(replace_file_without_sync(folder / "f", std::string(100, 'x'), 0600), std::system_error);
    ::setrlimit(RLIMIT_FSIZE, &whole);
    EXPECT_EQ(read_file(folder / "f"), "old");
    EXPECT_EQ(entries(folder), 1);
}

TEST(Files, ANewFileIsNoFileThatWasThere) {
    const tests::TemporaryFolder folder;
    std::filesystem::create_symlink(folder / "target", folder / "link");
    replace_file(folder / "f", "x");
    EXPECT_THROW(make_new_file(folder / "link"), std::system_error);
    EXPECT_THROW(make_new_file(folder / "f"), std::system_error);
    const auto name = temporary_name(folder / "f");
    EXPECT_NE(name, temporary_name(folder / "f"));
    EXPECT_EQ(name.parent_path(), folder.path());
    EXPECT_TRUE(name.filename().string().starts_with("f.tmp."));
    make_new_file(name);
    EXPECT_EQ(entries(folder), 3);
}

TEST(Files, WriteToAClosedPipeIsFalse) {
    ::signal(SIGPIPE, SIG_IGN);
    auto pipe = Pipe::open();
    pipe.read_end.reset();
    EXPECT_FALSE(write_all(pipe.write_end.get(), "x"));
}

}  // namespace
}  // namespace dtrain
