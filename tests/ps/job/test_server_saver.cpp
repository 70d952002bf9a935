// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a server in this process that was told the same and saves while nothing else happens, and the
// server itself at the moment when it said that it saves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/job/saving_server.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;
using testing::HasSubstr;
using testing::StartsWith;

/// What "saved FACTS" says.
std::string facts_of(const std::string& said) {
    EXPECT_THAT(said, StartsWith("saved "));
    return said.substr(said.find(' ') + 1);
}

void complete(const std::filesystem::path& folder, const std::string& said) {
    const auto facts = facts_of(said);
    write_manifest(folder, {&facts, 1});
}

TEST(SaveWhileLettersCome, HasWhatWasThereWhenItBegan) {
    const TemporaryFolder folder;
    for (unsigned seed = 0; seed < 8; ++seed) {
        std::mt19937 dice(seed);
        SavingServer server, twin;
        auto same = dice;
        server.push(30, dice);
        twin.push(30, same);
        const auto name = std::to_string(seed);
        const auto busy = folder / ("busy-" + name), quiet = folder / ("quiet-" + name);
        complete(quiet, twin.save({.folder = quiet}));

        const auto then = content(server.server());
        std::filesystem::create_directories(busy);
        server.ask_to_save(to_text({.folder = busy}));
        EXPECT_EQ(server.said(), "saving");
        std::string said;
        int pushes = 0;
        while (said.empty()) {
            if (dice() % 3 == 0) server.push(dice), ++pushes;
            server.server().go_on_with_save();
            said = server.said();
        }
        EXPECT_GT(pushes, 0);
        complete(busy, said);
        EXPECT_NE(content(server.server()), then);
        EXPECT_EQ(loaded(server.plan(), busy), then) << seed;
        EXPECT_EQ(loaded(server.plan(), quiet), then) << seed;
        const auto dense = "dense-0000-of-0001.h5";
        EXPECT_TRUE(bytes_of(busy / dense) == bytes_of(quiet / dense));
    }
}

TEST(SaveWhileLettersCome, OneAtATime) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SavingServer server;
    server.push(30, dice);
    const auto request = to_text({.folder = folder.path()});
    server.ask_to_save(request);
    EXPECT_EQ(server.said(), "saving");
    server.ask_to_save(request);
    EXPECT_EQ(server.said(), "failed a 'save' before the one in progress is complete");
    EXPECT_THAT(server.finish_save(), StartsWith("saved "));
    EXPECT_FALSE(server.server().go_on_with_save());
    EXPECT_THAT(server.save({.folder = folder.path()}), StartsWith("saved "));
}

TEST(SaveWhileLettersCome, TellsWhichFileCannotBeWritten) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SavingServer server;
    server.push(30, dice);
    const std::string rows = "item.weight-0000-of-0001.rows", dense = "dense-0000-of-0001.h5";
    server.ask_to_save(to_text({.folder = folder / "nowhere"}));
    EXPECT_THAT(server.said(), HasSubstr("cannot write " + (folder / "nowhere" / rows).string()));
    server.ask_to_save("somewhere");
    EXPECT_EQ(server.said(), "failed this is no order to save: 'somewhere'");

    std::filesystem::create_directories(folder / "taken" / dense / "by a folder");
    EXPECT_THAT(server.save({.folder = folder / "taken"}), HasSubstr((folder / "taken" / dense).string()));

    std::filesystem::create_directory(folder / "lost");
    server.ask_to_save(to_text({.folder = folder / "lost"}));
    EXPECT_EQ(server.said(), "saving");
    std::filesystem::remove(folder / "lost" / rows);
    EXPECT_THAT(server.finish_save(), HasSubstr("cannot write " + (folder / "lost" / rows).string()));

    // The next one is not the worse for it.
    complete(folder / "there", server.save({.folder = folder / "there"}));
    EXPECT_EQ(loaded(server.plan(), folder / "there"), content(server.server()));
}

}  // namespace
}  // namespace dtrain::ps
