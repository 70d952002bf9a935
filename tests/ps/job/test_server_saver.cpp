// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a server in this process that was told the same and saves while nothing else happens, and the
// server itself at the moment when it said that it saves.
#include <array>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ps/job/check_save.hpp"
#include "ps/job/saving_server.hpp"
#include "storage/index_block.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;
using testing::HasSubstr;
using testing::StartsWith;

/// What "saved INFO" says.
std::string info_of(const std::string& answer) {
    EXPECT_THAT(answer, StartsWith("saved "));
    return answer.substr(answer.find(' ') + 1);
}

void complete(const std::filesystem::path& folder, const std::string& answer,
              const std::vector<std::string>& needs = {}) {
    const auto info = info_of(answer);
    write_manifest(folder, {&info, 1}, needs);
}

std::string refusal(const SavingServer& server, const std::filesystem::path& folder) {
    return message_of([&] { load_parts(server.plan(), folder); });
}

TEST(SaveWhileMessagesCome, HasWhatWasThereWhenItBegan) {
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
        EXPECT_EQ(server.next_answer(), "saving");
        std::string answer;
        int pushes = 0;
        while (answer.empty()) {
            if (dice() % 3 == 0) server.push(dice), ++pushes;
            server.server().go_on_with_save();
            answer = server.next_answer();
        }
        EXPECT_GT(pushes, 0);
        complete(busy, answer);
        EXPECT_NE(content(server.server()), then);
        EXPECT_EQ(loaded(server.plan(), busy), then) << seed;
        EXPECT_EQ(loaded(server.plan(), quiet), then) << seed;
        const auto dense = "dense-0000-of-0001.h5";
        EXPECT_TRUE(bytes_of(busy / dense) == bytes_of(quiet / dense));
    }
}

TEST(SaveWhileMessagesCome, OneAtATime) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SavingServer server;
    server.push(30, dice);
    const auto request = to_text({.folder = folder.path()});
    server.ask_to_save(request);
    EXPECT_EQ(server.next_answer(), "saving");
    server.ask_to_save(request);
    EXPECT_EQ(server.next_answer(), "failed a 'save' before the one in progress is complete");
    EXPECT_THAT(server.finish_save(), StartsWith("saved "));
    EXPECT_FALSE(server.server().go_on_with_save());
    EXPECT_THAT(server.save({.folder = folder.path()}), StartsWith("saved "));
}

TEST(SaveWhileMessagesCome, TellsWhichFileCannotBeWritten) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SavingServer server;
    server.push(30, dice);
    const std::string rows = "item.weight-0000-of-0001.rows", dense = "dense-0000-of-0001.h5";
    server.ask_to_save(to_text({.folder = folder / "nowhere"}));
    EXPECT_THAT(server.next_answer(), HasSubstr("cannot write " + (folder / "nowhere" / rows).string()));
    server.ask_to_save("somewhere");
    EXPECT_EQ(server.next_answer(), "failed this is no order to save: 'somewhere'");

    std::filesystem::create_directories(folder / "taken" / dense / "by a folder");
    EXPECT_THAT(server.save({.folder = folder / "taken"}), HasSubstr((folder / "taken" / dense).string()));

    std::filesystem::create_directory(folder / "lost");
    server.ask_to_save(to_text({.folder = folder / "lost"}));
    EXPECT_EQ(server.next_answer(), "saving");
    std::filesystem::remove(folder / "lost" / rows);
    EXPECT_THAT(server.finish_save(), HasSubstr("cannot write " + (folder / "lost" / rows).string()));

    // The next one is not the worse for it.
    complete(folder / "there", server.save({.folder = folder / "there"}));
    EXPECT_EQ(loaded(server.plan(), folder / "there"), content(server.server()));
}

TEST(SaveOfChanges, OnTopOfThoseBeforeIsWhatWasThereWhenItBegan) {
    const TemporaryFolder folder;
    std::mt19937 dice(3);
    std::array<SavingServer, 2> servers{SavingServer(0, 2), SavingServer(1, 2)};
    const SavingServer one;
    std::vector<std::string> chain;
    for (int number = 0; number < 5; ++number) {
        const auto name = "save-" + std::to_string(number);
        std::filesystem::create_directory(folder / name);
        const SaveOrder order{.folder = folder / name,
                              .since = chain.empty() ? std::nullopt : std::optional(chain.back()),
                              .changes_follow = true};
        std::vector<ServerContent> then;
        std::vector<std::string> info;
        for (auto& server : servers) {
            server.push(number == 0 ? 60 : 1, dice);
            then.push_back(content(server.server()));
            server.ask_to_save(to_text(order));
            EXPECT_EQ(server.next_answer(), "saving");
            server.push(1, dice);
            server.server().go_on_with_save();
            server.push(1, dice);
            info.push_back(info_of(server.finish_save()));
            server.push(1, dice);
        }
        write_manifest(folder / name, info, chain);
        for (std::size_t i = 0; i < servers.size(); ++i)
            EXPECT_EQ(loaded(servers[i].plan(), folder / name), then[i]) << name;
        const auto by_one = loaded(one.plan(), folder / name);
        for (std::size_t table = 0; table < 2; ++table) {
            auto rows = then[0].tables[table];
            rows.merge(then[1].tables[table]);
            EXPECT_EQ(by_one.tables[table], rows) << name;
        }
        EXPECT_EQ(needs_of(folder / name), chain);
        chain.push_back(name);
    }
    const auto bytes = [&](const char* save) {
        return std::filesystem::file_size(folder / save / "item.weight-0000-of-0002.rows");
    };
    EXPECT_LT(bytes("save-4"), bytes("save-0") / 2);
}

TEST(SaveOfChanges, HasAlsoThoseOfASaveThatWasNotCompleted) {
    const TemporaryFolder folder;
    std::mt19937 dice(4);
    SavingServer server;
    server.push(30, dice);
    const auto ask = [&](const std::string& name, std::optional<std::string> since) {
        const auto answer = server.save({.folder = folder / name, .since = since, .changes_follow = true});
        server.push(3, dice);
        return answer;
    };
    EXPECT_THAT(ask("early", "nothing"),
                HasSubstr("what changed since 'nothing' is not known here, nor since any other save"));
    complete(folder / "a", ask("a", std::nullopt));
    ask("lost", "a");
    EXPECT_THAT(ask("early", "lost"), StartsWith("saved "));  // it was completed, as it turns out
    EXPECT_THAT(ask("late", "a"), HasSubstr("'a' is not known here, but what changed since 'lost' is"));

    complete(folder / "b", ask("b", std::nullopt));
    ask("lost again", "b");
    std::filesystem::create_directories(folder / "failed" / "dense-0000-of-0001.h5" / "by a folder");
    EXPECT_THAT(ask("failed", "b"), StartsWith("failed "));
    const auto then = content(server.server());
    complete(folder / "c", ask("c", "b"), {"b"});
    EXPECT_EQ(loaded(server.plan(), folder / "c"), then);
    // Who wants no more changes gets none.
    EXPECT_THAT(server.save({.folder = folder / "d", .since = "c"}), StartsWith("saved "));
    EXPECT_THAT(ask("e", "d"), HasSubstr("nor since any other save"));
}

TEST(SaveOfChanges, DamageOfEveryFileThatItNeedsIsNoticed) {
    const TemporaryFolder folder;
    std::mt19937 dice(5);
    SavingServer server;
    std::vector<std::string> chain;
    for (const std::string name : {"a", "b", "c"}) {
        server.push(10, dice);
        const auto since = chain.empty() ? std::nullopt : std::optional(chain.back());
        complete(folder / name,
                 server.save({.folder = folder / name, .since = since, .changes_follow = true}), chain);
        chain.push_back(name);
    }
    EXPECT_EQ(refusal(server, folder / "c"), "");
    for (const auto& name : chain)
        for (const auto& entry : std::filesystem::directory_iterator(folder / name)) {
            // Of those before, the dense part is none of its own.
            if (name != "c" && entry.path().extension() == ".h5") continue;
            const auto whole = bytes_of(entry.path());
            for (int time = 0; time < 10; ++time) {
                auto damaged = whole;
                damaged[dice() % damaged.size()] ^= static_cast<char>(1U << dice() % 8);
                write_bytes(entry.path(), damaged);
                EXPECT_THAT(refusal(server, folder / "c"), HasSubstr(entry.path().string()));
            }
            std::filesystem::remove(entry.path());
            EXPECT_THAT(refusal(server, folder / "c"), HasSubstr(entry.path().string()));
            write_bytes(entry.path(), whole);
        }
    EXPECT_EQ(refusal(server, folder / "c"), "");
    EXPECT_EQ(refusal(server, folder / "a"), "");

    // Another save under the name of one that is needed.
    std::filesystem::rename(folder / "b", folder / "other");
    EXPECT_THAT(refusal(server, folder / "c"), HasSubstr((folder / "b/servers.json").string()));
    complete(folder / "b", server.save({.folder = folder / "b"}));
    EXPECT_THAT(refusal(server, folder / "c"),
                HasSubstr("it has all rows, and is no change of another save"));
}

TEST(SaveOfChanges, AManifestThatMakesNoSenseIsRefused) {
    const TemporaryFolder folder;
    SavingServer server;
    const auto info = info_of(server.save({.folder = folder / "a"}));
    for (const std::string needed : {"../a", "", "."}) {
        write_manifest(folder / "a", {&info, 1}, {{needed}});
        EXPECT_THAT(refusal(server, folder / "a"), HasSubstr("which is no checkpoint beside it"));
        EXPECT_THAT(needs_of(folder / "a"), testing::IsEmpty());
    }
    const std::string other = R"({"dense": {"file": "x"}, "tables": []})";
    write_manifest(folder / "a", {&other, 1});
    EXPECT_THAT(refusal(server, folder / "a"), HasSubstr("makes no sense"));
    EXPECT_THAT(needs_of(folder / "nowhere"), testing::IsEmpty());
}

/// A manifest of any content, with the checksum of it.
void put_manifest(const std::filesystem::path& folder, const nlohmann::json& manifest) {
    const auto text = manifest.dump(1) + "\n";
    write_bytes(folder / "servers.json", storage::sum_line("dtrain servers 1", text.size(), text) + text);
}

TEST(Manifest, NamesNothingButFilesOfItsFolder) {
    const TemporaryFolder folder;
    SavingServer server;
    const auto info = info_of(server.save({.folder = folder / "a"}));
    write_bytes(folder / "secret", "of somebody else");
    write_manifest(folder / "a", {&info, 1});
    const auto sound = read_manifest(folder / "a");
    ASSERT_EQ(refusal(server, folder / "a"), "");
    for (const std::string name :
         {"../secret", "/dev/zero", "../../../../../dev/zero", ".", "..", "", "b/c"}) {
        auto manifest = sound;
        manifest["others"] = {{name, "0123456789abcdef"}};
        put_manifest(folder / "a", manifest);
        const auto expected =
            fmt::format("servers.json: it names '{}', which is no file in its folder", name);
        EXPECT_THAT(refusal(server, folder / "a"), HasSubstr(expected));
        EXPECT_THAT(message_of([&] { check_save(folder / "a"); }), HasSubstr(expected));
        manifest = sound;
        manifest["servers"][0]["dense"]["file"] = name;
        put_manifest(folder / "a", manifest);
        EXPECT_THAT(refusal(server, folder / "a"), HasSubstr(expected));
        manifest = sound;
        manifest["servers"][0]["tables"][0]["file"] = name;
        put_manifest(folder / "a", manifest);
        EXPECT_THAT(refusal(server, folder / "a"), HasSubstr("no entry for a file of a sparse table"));
    }
}

// A FIFO would let a reader wait for ever, and /dev/zero would take all memory.
TEST(Manifest, NamesNothingButRegularFiles) {
    const TemporaryFolder folder;
    SavingServer server;
    const auto info = info_of(server.save({.folder = folder / "a"}));
    write_manifest(folder / "a", {&info, 1});
    const auto sound = read_manifest(folder / "a");
    const auto dense = folder / "a" / sound["servers"][0]["dense"]["file"].get<std::string>();
    const auto table = folder / "a" / sound["servers"][0]["tables"][0]["file"].get<std::string>();
    const auto other = folder / "a" / "other";
    auto with_other = sound;
    with_other["others"] = {{"other", "0123456789abcdef"}};
    put_manifest(folder / "a", with_other);
    write_bytes(other, "anything");
    EXPECT_EQ(refusal(server, folder / "a"), other.string() + ": it is damaged");
    for (const auto& file : {other, dense, table, folder / "a" / "servers.json"}) {
        const auto content = bytes_of(file);
        const auto refused_as = [&](const char* what) {
            EXPECT_THAT(refusal(server, folder / "a"),
                        testing::AllOf(HasSubstr(file.string()), HasSubstr(what)));
            std::filesystem::remove(file);
        };
        std::filesystem::remove(file);
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
        refused_as("it is a FIFO, not a regular file");
        std::filesystem::create_symlink("/dev/zero", file);
        refused_as("it is a symbolic link, which is not followed here");
        write_bytes(folder / "elsewhere", content);
        std::filesystem::create_symlink(folder / "elsewhere", file);
        refused_as("it is a symbolic link, which is not followed here");
        write_bytes(file, content);
        if (file == other) put_manifest(folder / "a", sound);
    }
    EXPECT_EQ(refusal(server, folder / "a"), "");
}

// What takes it apart would use up the stack.
TEST(Manifest, ThatIsNestedWithoutAnEndMakesNoSense) {
    const TemporaryFolder folder;
    SavingServer server;
    const auto info = info_of(server.save({.folder = folder / "a"}));
    write_manifest(folder / "a", {&info, 1});
    auto manifest = read_manifest(folder / "a");
    manifest["servers"][0]["tables"][0] = "table";
    auto text = manifest.dump();
    constexpr std::size_t depth = 1'000'000;
    text.replace(text.find("\"table\""), 7, std::string(depth, '[') + std::string(depth, ']'));
    write_bytes(folder / "a" / "servers.json",
                storage::sum_line("dtrain servers 1", text.size(), text) + text);
    const auto expected = (folder / "a" / "servers.json").string() + ": it makes no sense";
    EXPECT_EQ(message_of([&] { check_save(folder / "a"); }), expected);
    EXPECT_EQ(refusal(server, folder / "a"), expected);
}

TEST(SaveOfChanges, NumbersThatNoServerHasAreRefused) {
    const TemporaryFolder folder;
    SavingServer server;
    const auto info = nlohmann::json::parse(info_of(server.save({.folder = folder / "a"})));
    const auto refusal_with = [&](const char* where, std::int64_t number) {
        auto changed = info;
        changed.at(nlohmann::json::json_pointer(where)) = number;
        const auto text = changed.dump();
        write_manifest(folder / "a", {&text, 1});
        return refusal(server, folder / "a");
    };
    for (const auto number : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
        EXPECT_THAT(refusal_with("/steps", number),
                    HasSubstr(fmt::format("its servers have made {} steps, which no server can", number)));
        EXPECT_THAT(refusal_with("/dense/tensors/0/first", number),
                    HasSubstr(fmt::format("cannot begin with element {}", number)));
    }
    EXPECT_EQ(refusal_with("/steps", 5), "");
}

}  // namespace
}  // namespace dtrain::ps
