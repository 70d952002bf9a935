// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files that this process holds in the ways of Open MPI 4.1 (mapped and closed, or open), and the
// names it has for them.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/leftovers.hpp"
#include "base/temporary_folder.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page = 4096;

/// A file that is mapped and not open, as shared memory of MPI is.
class MappedFile {
  public:
    explicit MappedFile(const fs::path& path) {
        const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
        if (::ftruncate(file.get(), page) == 0)
            memory_ = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() { ::munmap(memory_, page); }
    bool is_mapped() const { return memory_ != MAP_FAILED; }

  private:
    void* memory_ = MAP_FAILED;
};

/// The pid of a process that is gone.
pid_t dead_process() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

class Leftovers : public testing::Test {
  protected:
    void SetUp() override {
        tests::write_bytes(folder_ / "probe", "");
        if (is_in_use(folder_ / "probe"))
            GTEST_SKIP() << "the file system of " << folder_.path() << " does not tell who has a file open";
        fs::create_directory(folders_.temporary);
        fs::create_directory(folders_.shared_memory);
    }

    /// A session of mpirun, as after kill -9.
    fs::path session(const std::string& name) const {
        const auto path = folders_.temporary / fmt::format("ompi.node1.{}", ::geteuid()) / name;
        fs::create_directories(path / "pmix_dstor_ds21_7");
        tests::write_bytes(path / "contact.txt", "x");
        tests::write_bytes(path / "pmix_dstor_ds21_7/initial-pmix_shared-segment-0", "x");
        return path;
    }

    const tests::TemporaryFolder folder_;
    const LeftoverFolders folders_{
        .temporary = folder_ / "tmp", .shared_memory = folder_ / "shm", .host = "node1.site"};
};

TEST_F(Leftovers, AFileIsInUseWhileItIsOpenOrMapped) {
    const auto file = folder_ / "file";
    {
        const MappedFile mapped(file);
        ASSERT_TRUE(mapped.is_mapped());
        EXPECT_TRUE(is_in_use(file));
    }
    EXPECT_FALSE(is_in_use(file));
    {
        const FileDescriptor open(::open(file.c_str(), O_RDONLY));
        EXPECT_TRUE(is_in_use(file));
    }
    EXPECT_FALSE(is_in_use(file));
    EXPECT_TRUE(is_in_use(folder_ / "none"));
    fs::create_symlink(file, folder_ / "link");
    EXPECT_TRUE(is_in_use(folder_ / "link"));
}

TEST_F(Leftovers, SharedMemoryGoesUnlessItIsMapped) {
    const auto living = folders_.shared_memory / "vader_segment.node1.0.1f690001.0";
    const MappedFile mapped(living);
    const auto other = folders_.shared_memory / "psm3_shm.1";
    for (const char* dead : {"vader_segment.node1.0.2f690001.0", "sm_segment.node1.0.2f690001.0",
                             "dtrain-messages-1-2", "dtrain-letters-1-2", "dtrain-ports-0-123"})
        tests::write_bytes(folders_.shared_memory / dead, "x");
    tests::write_bytes(other, "x");
    EXPECT_EQ(remove_leftovers(folders_), 5);
    EXPECT_TRUE(fs::exists(living));
    EXPECT_TRUE(fs::exists(other)) << "not a name that dtrain knows";
}

TEST_F(Leftovers, WhatOtherUsersHaveStays) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
    const auto memory = folders_.shared_memory / "vader_segment.node1.0.2f690001.0";
    tests::write_bytes(memory, "x");
    const auto of_other = session("jf.30701");
    const auto own = session("jf.30702");
    constexpr uid_t other = 65534;
    for (const auto& theirs : {memory, of_other}) ASSERT_EQ(::lchown(theirs.c_str(), other, other), 0);
    EXPECT_EQ(remove_leftovers(folders_), 1);
    EXPECT_TRUE(fs::exists(memory));
    EXPECT_TRUE(fs::exists(of_other));
    EXPECT_FALSE(fs::exists(own));
}

TEST_F(Leftovers, SessionsGoUnlessAProcessHasThem) {
    const auto dead = session(fmt::format("pid.{}", dead_process()));
    const auto dead_daemon = session("jf.30701");
    const auto held = session("jf.8366");
    const MappedFile mapped(held / "hwloc.sm");
    const auto own = session(fmt::format("pid.{}", ::getpid()));
    const auto starting = session("jf.1");
    fs::remove_all(starting / "pmix_dstor_ds21_7");
    const auto of_others = session("ompi5");
    EXPECT_EQ(remove_leftovers(folders_), 2);
    EXPECT_FALSE(fs::exists(dead));
    EXPECT_FALSE(fs::exists(dead_daemon));
    for (const auto& kept : {held, own, starting, of_others}) EXPECT_TRUE(fs::exists(kept)) << kept;
}

// Two launchers, or mpirun itself: what one looks at the other removes.
TEST_F(Leftovers, SessionsMayGoWhileTheyAreLookedAt) {
    const auto folder = folders_.temporary / fmt::format("ompi.node1.{}", ::geteuid()) / "jf.30701";
    const std::jthread other([&](const std::stop_token& stop) {
        std::error_code ignored;
        while (!stop.stop_requested()) {
            for (const char* rank : {"0", "1", "2", "3"})
                fs::create_directories(folder / rank / "a", ignored);
            fs::remove_all(folder, ignored);
        }
    });
    for (int times = 0; times < 2000; ++times) EXPECT_NO_THROW(remove_leftovers(folders_));
}

TEST_F(Leftovers, TheirFolderGoesWithTheLastSession) {
    const auto first = session("jf.30701"), second = session("jf.8366");
    const auto folder = first.parent_path();
    {
        const MappedFile mapped(second / "hwloc.sm");
        EXPECT_EQ(remove_leftovers(folders_), 1);
        EXPECT_TRUE(fs::exists(folder));
    }
    EXPECT_EQ(remove_leftovers(folders_), 1);
    EXPECT_FALSE(fs::exists(folder));
}

TEST_F(Leftovers, WhatIsLeftOfTheSessionOfOneMpirunGoes) {
    const auto ended = dead_process();
    const auto empty = session(fmt::format("pid.{}", ended));
    for (const auto& entry : fs::directory_iterator(empty)) fs::remove_all(entry);
    const auto living = session(fmt::format("pid.{}", ::getpid()));
    EXPECT_EQ(remove_leftovers(folders_), 0) << "it may be one that starts";
    remove_session(folders_, ::getpid());
    remove_session(folders_, ended);
    EXPECT_FALSE(fs::exists(empty));
    EXPECT_TRUE(fs::exists(living));
    fs::remove_all(living);
    fs::create_directory(empty);
    remove_session(folders_, ended);
    EXPECT_FALSE(fs::exists(empty.parent_path()));
}

// mpirun 5.0's and its daemons' sessions lie beside each other.
TEST_F(Leftovers, SessionsOfPrrteGoAsThoseOfMpirun4) {
    const auto prrte_session = [&](const std::string& begin, pid_t pid) {
        const auto path = folders_.temporary / fmt::format("{}.node1.{}.{}", begin, pid, ::geteuid());
        fs::create_directories(path / "1/0");
        tests::write_bytes(path / "hwloc.sm", "x");
        return path;
    };
    const auto dead = prrte_session("prterun", dead_process());
    const auto dead_daemon = prrte_session("prted", dead_process());
    const auto held = prrte_session("prted", dead_process());
    const auto own = prrte_session("prterun", ::getpid());
    const auto other = prrte_session("prteother", dead_process());
    {
        const MappedFile mapped(held / "hwloc.sm");
        EXPECT_EQ(remove_leftovers(folders_), 2);
    }
    for (const auto& gone : {dead, dead_daemon}) EXPECT_FALSE(fs::exists(gone)) << gone;
    for (const auto& kept : {held, own, other}) EXPECT_TRUE(fs::exists(kept)) << kept;

    const auto ended = dead_process();
    const auto of_ended = prrte_session("prterun", ended);
    remove_session(folders_, ::getpid());
    remove_session(folders_, ended);
    EXPECT_FALSE(fs::exists(of_ended));
    EXPECT_TRUE(fs::exists(own));
}

TEST_F(Leftovers, SessionsOfOtherHostsStay) {
    const auto session_folder = session("jf.7");
    auto of_other_host = folders_;
    of_other_host.host = "node2";
    EXPECT_EQ(remove_leftovers(of_other_host), 0);
    EXPECT_TRUE(fs::exists(session_folder));
}

TEST_F(Leftovers, FoldersOfLaunchersGoWithThem) {
    const TemporaryFolder living(folders_.temporary);
    const pid_t child = ::fork();
    if (child == 0) {
        new TemporaryFolder(folders_.temporary);
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(remove_leftovers(folders_), 1);
    EXPECT_TRUE(fs::exists(living.path()));
}

}  // namespace
}  // namespace dtrain
