// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the file's contract: 64 hexadecimal digits, mode 0600, one key for all who make it at the same
// time; every message names the file and what to type.
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "transport/key_file.hpp"

namespace dtrain::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::message_of;

constexpr const char* hex = "00ff02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

mode_t mode_of(const std::filesystem::path& file) {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(Key, IsReadFromHexadecimalDigits) {
    EXPECT_EQ(Key::parse(hex)->to_hex(), hex);
    EXPECT_EQ(Key::parse(std::string("  ") + hex + "\n")->to_hex(), hex);
    for (const std::string& wrong : {std::string(), std::string(hex).substr(1), std::string(hex) + "0",
                                     std::string(64, 'g'), "0x" + std::string(62, '0')})
        EXPECT_EQ(Key::parse(wrong), std::nullopt) << wrong;
    EXPECT_FALSE(Key::random() == Key::random());
}

TEST(KeyFile, LiesInTheHomeUnlessNamed) {
    EXPECT_EQ(key_file({{"HOME", "/home/ada"}}), "/home/ada/.dtrain/key");
    EXPECT_EQ(key_file({{"HOME", "/home/ada"}, {"DTRAIN_KEY_FILE", "/etc/k"}}), "/etc/k");
    EXPECT_EQ(key_file({{"HOME", "/home/ada"}, {"DTRAIN_KEY_FILE", ""}}), "/home/ada/.dtrain/key");
    EXPECT_THAT(message_of([] { key_file({}); }), HasSubstr("DTRAIN_KEY_FILE"));
}

TEST(KeyFile, IsMadeOnFirstUseForItsOwnerAlone) {
    const tests::TemporaryFolder folder;
    const auto file = folder / ".dtrain" / "key";
    const auto key = read_or_make_key(file);
    EXPECT_EQ(mode_of(file), 0600u);
    EXPECT_EQ(mode_of(file.parent_path()), 0700u);
    EXPECT_EQ(read_or_make_key(file), key);
    EXPECT_EQ(read_key(file), key);
    EXPECT_EQ(tests::bytes_of(file), key.to_hex() + "\n");
}

TEST(KeyFile, AllWhoMakeItAtOnceGetTheSame) {
    const tests::TemporaryFolder folder;
    const auto file = folder / ".dtrain" / "key";
    std::vector<std::string> got(16);
    {
        std::vector<std::jthread> threads;
        for (auto& each : got) threads.emplace_back([&] { each = read_or_make_key(file).to_hex(); });
    }
    EXPECT_THAT(got, testing::Each(got.front()));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1);
}

TEST(KeyFile, OneThatOthersCanReadIsRefusedWithTheRemedy) {
    const tests::TemporaryFolder folder;
    const auto file = folder / "key";
    install_key(file, hex);
    EXPECT_EQ(mode_of(file), 0600u);
    for (const mode_t mode : {0640, 0604, 0620, 0666}) {
        ::chmod(file.c_str(), mode);
        EXPECT_THAT(message_of([&] { read_key(file); }),
                    AllOf(HasSubstr("chmod 600 " + file.string()), Not(HasSubstr(hex))));
        EXPECT_THROW(read_or_make_key(file), UsageError);
    }
    ::chmod(file.c_str(), 0400);
    EXPECT_EQ(read_key(file).to_hex(), hex);
}

TEST(KeyFile, OneOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
    const tests::TemporaryFolder folder;
    const auto file = folder / "key";
    install_key(file, hex);
    constexpr uid_t other = 65534;
    ASSERT_EQ(::chown(file.c_str(), other, other), 0);
    for (const auto& read : {read_key, read_or_make_key})
        EXPECT_THAT(message_of([&] { read(file); }), HasSubstr("belongs to user 65534"));
}

TEST(KeyFile, MissingOrUnreadableOneNamesTheCommand) {
    const tests::TemporaryFolder folder;
    EXPECT_THAT(message_of([&] { read_key(folder / "none"); }),
                AllOf(HasSubstr((folder / "none").string()), HasSubstr("dtrain-launch key show")));
    tests::write_bytes(folder / "noise", "request\n");
    ::chmod((folder / "noise").c_str(), 0600);
    EXPECT_THAT(message_of([&] { read_or_make_key(folder / "noise"); }),
                AllOf(HasSubstr("holds no key"), HasSubstr("dtrain-launch key show")));
    EXPECT_EQ(tests::bytes_of(folder / "noise"), "request\n");
    std::filesystem::create_directory(folder / "folder");
    EXPECT_THAT(message_of([&] { read_key(folder / "folder"); }), HasSubstr("is no file"));
}

TEST(KeyFile, InstallReplacesAKeyAndRefusesOtherText) {
    const tests::TemporaryFolder folder;
    const auto file = folder / ".dtrain" / "key";
    install_key(file, hex);
    const auto another = Key::random();
    install_key(file, another.to_hex() + "\n");
    EXPECT_EQ(read_key(file), another);
    EXPECT_THAT(message_of([&] { install_key(file, "secret"); }), HasSubstr("64 hexadecimal digits"));
    EXPECT_EQ(read_key(file), another);
}

TEST(KeyFile, CommandForOtherNodes) {
    EXPECT_EQ(install_command(*Key::parse(hex)), std::string("echo ") + hex + " | dtrain-launch key install");
    EXPECT_EQ(how_to_copy_key("10.0.0.1", "10.0.0.2"),
              "run \"dtrain-launch key show\" on 10.0.0.1 and the command that it prints on 10.0.0.2");
}

}  // namespace
}  // namespace dtrain::transport
