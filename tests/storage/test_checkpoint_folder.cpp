// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: which checkpoints the test made, in which order; what is not one must stay where it is.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "storage/sample_checkpoint.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;
using tests::sample_checkpoint;
using tests::TemporaryFolder;
using tests::write_bytes;

class Folder : public testing::TestWithParam<CheckpointFormat> {
  protected:
    std::filesystem::path save(std::int64_t epoch, int keep, std::int64_t epoch_step = 0) {
        auto checkpoint = sample_checkpoint();
        checkpoint.epoch = epoch;
        checkpoint.epoch_step = epoch_step;
        return checkpoints.save(checkpoint, keep, GetParam());
    }
    std::string name(const std::string& stem) const {
        return stem + (GetParam() == CheckpointFormat::file ? ".h5" : "");
    }
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
            out.push_back(entry.path().filename().string());
        return out;
    }

    TemporaryFolder folder;
    CheckpointFolder checkpoints{folder / "run"};
};

TEST_P(Folder, KeepsTheLastOnes) {
    EXPECT_EQ(checkpoints.newest(), std::nullopt);
    for (std::int64_t epoch = 1; epoch <= 5; ++epoch) save(epoch, 2);
    EXPECT_THAT(names(), UnorderedElementsAre(name("epoch-000004"), name("epoch-000005"), "latest"));
    EXPECT_EQ(checkpoints.newest(), folder / "run" / name("epoch-000005"));
    EXPECT_EQ(load_checkpoint(*checkpoints.newest()).epoch, 5);
}

TEST_P(Folder, KeepsWhatThoseNeedThatStay) {
    for (std::int64_t epoch = 1; epoch <= 6; ++epoch) save(epoch, 9);
    const auto needs = [&](const std::filesystem::path& checkpoint) -> std::vector<std::string> {
        const auto of = checkpoint.filename();
        if (of == name("epoch-000006")) return {name("epoch-000001")};
        if (of == name("epoch-000005")) return {name("epoch-000002"), "epoch-000777"};
        EXPECT_NE(of, name("epoch-000003"));
        return {};
    };
    checkpoints.publish(folder / "run" / name("epoch-000005"), 2, needs);
    EXPECT_THAT(names(),
                UnorderedElementsAre(name("epoch-000001"), name("epoch-000002"), name("epoch-000004"),
                                     name("epoch-000005"), name("epoch-000006"), "latest"));
    checkpoints.publish(folder / "run" / name("epoch-000006"), 1, needs);
    EXPECT_THAT(names(), UnorderedElementsAre(name("epoch-000001"), name("epoch-000006"), "latest"));
}

TEST_P(Folder, StepsOfAnEpochLieBetweenItAndTheNext) {
    save(8, 9);
    save(8, 9, 100);
    save(8, 9, 20);
    save(9, 9);
    std::vector<std::string> order;
    for (const auto& path : checkpoints.candidates()) order.push_back(path.filename().string());
    EXPECT_THAT(order, ElementsAre(name("epoch-000009"), name("epoch-000008-step-000100"),
                                   name("epoch-000008-step-000020"), name("epoch-000008")));
    EXPECT_EQ(load_checkpoint(folder / "run" / order[1]).epoch_step, 100);
    save(9, 2, 1);
    EXPECT_THAT(names(),
                UnorderedElementsAre(name("epoch-000009"), name("epoch-000009-step-000001"), "latest"));
}

TEST_P(Folder, ANewRunInTheFolderOfALongerOne) {
    for (std::int64_t epoch = 9; epoch <= 10; ++epoch) save(epoch, 2);
    for (std::int64_t epoch = 1; epoch <= 2; ++epoch) save(epoch, 2);
    EXPECT_EQ(checkpoints.newest(), folder / "run" / name("epoch-000002"));
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / name("epoch-000001")));
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / name("epoch-000010")));
    auto other = sample_checkpoint();
    other.epoch = 10;
    other.job["note"] = "of the new run";
    checkpoints.save(other, 2, GetParam());
    EXPECT_EQ(load_checkpoint(folder / "run" / name("epoch-000010")), other);
}

TEST_P(Folder, KnowsTheOnesOfARun) {
    for (std::int64_t epoch = 1; epoch <= 9; ++epoch) save(epoch, 9);
    const auto other = checkpoints;
    checkpoints = CheckpointFolder(folder / "run", "first");
    EXPECT_THAT(checkpoints.own(), testing::IsEmpty());
    for (std::int64_t epoch = 1; epoch <= 4; ++epoch) save(epoch, 2);
    EXPECT_THAT(checkpoints.own(),
                ElementsAre(folder / "run" / name("epoch-000004"), folder / "run" / name("epoch-000003")));
    EXPECT_EQ(
        tests::bytes_of(folder / "run/.dtrain-run"),
        "first\n" + name("epoch-000002") + "\n" + name("epoch-000003") + "\n" + name("epoch-000004") + "\n");
    EXPECT_THAT(other.own(), testing::IsEmpty()) << "without a mark none are";
    EXPECT_EQ(other.candidates().size(), 7U);
    EXPECT_THAT(CheckpointFolder(folder / "run", "second").own(), testing::IsEmpty());

    std::filesystem::remove_all(folder / "run" / name("epoch-000004"));
    EXPECT_THAT(checkpoints.own(), ElementsAre(folder / "run" / name("epoch-000003")));
    checkpoints = CheckpointFolder(folder / "run", "second");
    save(3, 9);
    EXPECT_THAT(checkpoints.own(), ElementsAre(folder / "run" / name("epoch-000003")));
    EXPECT_THAT(CheckpointFolder(folder / "run", "first").own(), testing::IsEmpty()) << "another job came";
    checkpoints = other;
    save(2, 9);
    EXPECT_FALSE(std::filesystem::exists(folder / "run/.dtrain-run"));
}

TEST_P(Folder, WithoutTheNameOfTheLatest) {
    for (std::int64_t epoch = 99; epoch <= 101; ++epoch) save(epoch, 9);
    write_bytes(folder / "run/epoch-000200.h5.tmp.77", "half written");
    std::filesystem::create_directories(folder / "run/.tmp-epoch-000300");
    write_bytes(folder / "run/notes.h5", "");
    for (const char* left_by_a_kill : {"run/latest.tmp.77", "run/.dtrain-run.tmp.77"})
        write_bytes(folder / left_by_a_kill, "");
    std::filesystem::remove(folder / "run/latest");
    EXPECT_EQ(checkpoints.newest(), folder / "run" / name("epoch-000101"));
    write_bytes(folder / "run/latest", "epoch-000777.h5\n");
    EXPECT_EQ(checkpoints.newest(), folder / "run" / name("epoch-000101"));
    save(102, 1);
    EXPECT_THAT(names(),
                UnorderedElementsAre(name("epoch-000102"), "latest", "epoch-000200.h5.tmp.77", "notes.h5"));
}

TEST(CheckpointFolders, ThatCannotBeReadAreNotEmpty) {
    const TemporaryFolder folder;
    const auto loop = folder / "loop";
    std::filesystem::create_symlink(loop, loop);
    const auto names_it = ThrowsMessage<Error>(HasSubstr("cannot read " + loop.string()));
    EXPECT_THAT([&] { CheckpointFolder(loop).all(); }, names_it);
    EXPECT_THAT([&] { CheckpointFolder(loop).candidates(); }, names_it);
    EXPECT_THAT([&] { CheckpointFolder(loop, "run").own(); }, names_it);
    std::filesystem::create_directory(folder / ".dtrain-run");
    EXPECT_THAT([&] { CheckpointFolder(folder.path(), "run").own(); },
                ThrowsMessage<Error>(HasSubstr("/.dtrain-run: it is a folder")));
}

INSTANTIATE_TEST_SUITE_P(Formats, Folder,
                         testing::Values(CheckpointFormat::directory, CheckpointFormat::file),
                         [](const auto& format) {
                             return std::string(format.param == CheckpointFormat::file ? "file"
                                                                                       : "directory");
                         });

}  // namespace
}  // namespace dtrain
