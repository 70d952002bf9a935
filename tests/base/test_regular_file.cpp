// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files of each kind that the test itself makes; a FIFO that nobody writes would let a reader wait
// for ever.
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/regular_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

class RegularFile : public testing::Test {
  protected:
    std::string refusal(const std::filesystem::path& path, Links links = Links::followed) const {
        return message_of([&] { read_regular_file(path, links); });
    }
    tests::TemporaryFolder folder_;
};

TEST_F(RegularFile, IsReadInWhole) {
    const std::string content("a\0b\n", 4);
    tests::write_bytes(folder_ / "file", content);
    std::filesystem::create_symlink("file", folder_ / "link");
    EXPECT_EQ(read_regular_file(folder_ / "file", Links::refused), content);
    EXPECT_EQ(read_regular_file(folder_ / "link"), content);
    EXPECT_EQ(
        refusal(folder_ / "link", Links::refused),
        "cannot read " + (folder_ / "link").string() + ": it is a symbolic link, which is not followed here");
}

TEST_F(RegularFile, NothingElseIsRead) {
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    std::filesystem::create_symlink("fifo", folder_ / "link");
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const auto socket_path = (folder_ / "socket").string();
    ASSERT_LT(socket_path.size(), sizeof(address.sun_path));
    socket_path.copy(address.sun_path, socket_path.size());
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_THAT(refusal(folder_ / "fifo"), HasSubstr("fifo: it is a FIFO, not a regular file"));
    EXPECT_THAT(refusal(folder_ / "link"), HasSubstr("link: it is a FIFO, not a regular file"));
    EXPECT_THAT(refusal(folder_ / "socket"), HasSubstr("socket: it is no regular file"));
    EXPECT_THAT(refusal("/dev/zero"), HasSubstr("/dev/zero: it is a device, not a regular file"));
    EXPECT_THAT(refusal(folder_.path()), HasSubstr("it is a folder"));
    EXPECT_THAT(refusal(folder_ / "none"), HasSubstr("none: No such file or directory"));
}

TEST_F(RegularFile, HasALimit) {
    const auto path = folder_ / "sparse";
    std::ofstream(path).put('x');
    std::filesystem::resize_file(path, std::uintmax_t{1} << 40U);
    EXPECT_THAT(refusal(path), HasSubstr("sparse: it has 1099511627776 bytes, more than 1073741824"));
}

TEST(PlainNames, AreThoseOfFilesInTheFolder) {
    for (const auto* name : {"a", "dense-0000-of-0001.h5", ".hidden", "..a", "a b", "a\nb"})
        EXPECT_TRUE(is_plain_name(name)) << name;
    for (const auto& name :
         {std::string(""), std::string("."), std::string(".."), std::string("/etc/passwd"),
          std::string("../a"), std::string("a/b"), std::string("a/"), std::string("a\0b", 3)})
        EXPECT_FALSE(is_plain_name(name)) << name;
}

}  // namespace
}  // namespace dtrain
