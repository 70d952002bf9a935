// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files that HDF5 itself writes, each with one thing by which a file reaches out of itself or says
// that it has more than it has; HDF5 alone reads them all.
#include <array>
#include <filesystem>
#include <numeric>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/dataset.hpp>

#include "storage/hdf5_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::message_of;

/// HDF5's identifiers stay open until their file is closed, and all others with it.
class RawFile {
  public:
    explicit RawFile(const std::filesystem::path& path) {
        const auto access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
        file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    }
    RawFile(const RawFile&) = delete;
    RawFile& operator=(const RawFile&) = delete;
    ~RawFile() { H5Fclose(file_); }

    hid_t id() const { return file_; }

    hid_t dataset(const char* name, std::vector<hsize_t> shape, hid_t type, hid_t creation = H5P_DEFAULT) {
        const auto space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
        return H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    void floats(const char* name, const std::vector<hsize_t>& shape, hid_t creation = H5P_DEFAULT) {
        std::vector<float> values(
            std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>()));
        std::iota(values.begin(), values.end(), 0.0F);
        H5Dwrite(dataset(name, shape, H5T_IEEE_F32LE, creation), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
                 H5P_DEFAULT, values.data());
    }
    void labels(const char* name, hsize_t count) {
        const std::vector<std::int64_t> values(count, 1);
        H5Dwrite(dataset(name, {count}, H5T_STD_I64LE), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                 values.data());
    }

  private:
    hid_t file_;
};

hid_t space_of(std::vector<hsize_t> shape) {
    return H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
}

class HostileHdf5 : public testing::Test {
  protected:
    HostileHdf5() {
        RawFile secret(folder_ / "elsewhere.h5");
        secret.floats("x", {4, 2});
        secret.labels("y", 4);
        std::filesystem::create_directory(folder_ / "data");
    }
    std::string refusal() const {
        return message_of([&] { Dataset::read({.file = file_}); });
    }
    tests::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "data" / "train.h5";
};

TEST_F(HostileHdf5, ExternalLinksAreNotFollowed) {
    {
        RawFile file(file_);
        file.labels("y", 4);
        H5Lcreate_external("../elsewhere.h5", "/x", file.id(), "x", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_external("../elsewhere.h5", "/", file.id(), "group", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_soft("/group/x", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    }
    constexpr const char* why = "is a link into another file, and only the file itself is read";
    EXPECT_EQ(refusal(), file_.string() + ": dataset 'x' " + why);
    const auto file = storage::Hdf5File::open(file_);
    for (const auto* name : {"/group/x", "soft"})
        EXPECT_EQ(message_of([&] { file.info(name); }), file_.string() + ": dataset '" + name + "' " + why);
    EXPECT_EQ(message_of([&] { file.has_attribute("/group", "format"); }),
              file_.string() + ": group '/group' " + why);
    EXPECT_THAT(file.datasets_below("/"), testing::ElementsAre("y"));
}

TEST_F(HostileHdf5, LinksWithinAFileAre) {
    {
        RawFile file(file_);
        file.labels("y", 4);
        file.floats("values", {4, 2});
        H5Lcreate_soft("/values", file.id(), "x", H5P_DEFAULT, H5P_DEFAULT);
    }
    EXPECT_EQ(Dataset::read({.file = file_}).x(3)[1], 7);
}

TEST_F(HostileHdf5, ExternalStorageIsNotRead) {
    {
        RawFile file(file_);
        file.labels("y", 4);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(creation, "/etc/passwd", 0, 32);
        file.dataset("x", {4, 2}, H5T_IEEE_F32LE, creation);
    }
    EXPECT_THAT(refusal(), HasSubstr("dataset 'x' has its values in other files (external storage)"));
}

TEST_F(HostileHdf5, VirtualDatasetsReadFilesOfTheirFolderAlone) {
    const auto make = [&](const char* source, const char* dataset = "x", hsize_t rows = 4) {
        RawFile file(file_);
        file.labels("y", 4);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_virtual(creation, space_of({rows, 2}), source, dataset, space_of({rows, 2}));
        file.dataset("x", {rows, 2}, H5T_IEEE_F32LE, creation);
    };
    const auto absolute = (folder_ / "elsewhere.h5").string();
    std::filesystem::create_symlink("../elsewhere.h5", folder_ / "data" / "link.h5");
    ASSERT_EQ(::mkfifo((folder_ / "data" / "fifo").c_str(), 0600), 0);
    for (const auto* source : {"../elsewhere.h5", absolute.c_str(), ".", "%%.h5"}) {
        make(source);
        EXPECT_THAT(refusal(), AllOf(HasSubstr("dataset 'x' is a virtual one with values in '"),
                                     HasSubstr("they are read from files in its own folder alone")))
            << source;
    }
    make("link.h5");
    EXPECT_THAT(refusal(), HasSubstr("a symbolic link, which is not followed"));
    make("fifo");
    EXPECT_THAT(refusal(), HasSubstr("fifo: it is a FIFO, not a regular file"));
    make("none.h5");
    EXPECT_THAT(refusal(), HasSubstr("none.h5: No such file or directory"));

    {
        RawFile part(folder_ / "data" / "part.h5");
        part.floats("x", {4, 2});
        H5Lcreate_external("../elsewhere.h5", "/x", part.id(), "external", H5P_DEFAULT, H5P_DEFAULT);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_virtual(creation, space_of({4, 2}), "../elsewhere.h5", "x", space_of({4, 2}));
        part.dataset("virtual", {4, 2}, H5T_IEEE_F32LE, creation);
        const auto outside = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(outside, "/etc/passwd", 0, 32);
        part.dataset("outside", {4, 2}, H5T_IEEE_F32LE, outside);
    }
    make("part.h5", "external");
    EXPECT_THAT(refusal(), HasSubstr("part.h5: dataset 'external' is a link into another file"));
    make("part.h5", "virtual");
    EXPECT_THAT(refusal(), HasSubstr("part.h5: dataset 'virtual' is virtual, and so is 'x' of"));
    make("part.h5", "outside");
    EXPECT_THAT(refusal(), HasSubstr("part.h5: dataset 'outside' has its values in other files"));
    make("part.h5", "x", 1 << 28);
    EXPECT_THAT(refusal(), HasSubstr("part.h5: dataset 'x' has another shape than 'x' of"));
    make("part.h5");
    EXPECT_EQ(Dataset::read({.file = file_}).x(3)[1], 7);
}

// HDF5 would look beside the link first, and then in the folder where the program was started.
TEST_F(HostileHdf5, PartsLieBesideTheFileThatALinkLeadsTo) {
    RawFile(folder_ / "data" / "part.h5").floats("x", {4, 2});
    {
        RawFile file(file_);
        file.labels("y", 4);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_virtual(creation, space_of({4, 2}), "part.h5", "x", space_of({4, 2}));
        file.dataset("x", {4, 2}, H5T_IEEE_F32LE, creation);
    }
    const auto link = folder_ / "link.h5";
    std::filesystem::create_symlink(file_, link);
    EXPECT_EQ(Dataset::read({.file = link}).x(3)[1], 7);
    RawFile(folder_ / "part.h5").floats("x", {4, 3});
    EXPECT_EQ(Dataset::read({.file = link}).x(3)[1], 7);
    std::filesystem::remove(folder_ / "data" / "part.h5");
    EXPECT_THAT(message_of([&] { Dataset::read({.file = link}); }),
                HasSubstr("data/part.h5: No such file or directory"));
}

// Parts that are more than there is, or fewer than the dataset needs, would be read as zeros.
TEST_F(HostileHdf5, VirtualDatasetsHaveAllOfTheirValues) {
    {
        RawFile part(folder_ / "data" / "part.h5");
        part.floats("x", {4, 2});
    }
    const auto make = [&](hsize_t rows, hsize_t shown) {
        RawFile file(file_);
        file.labels("y", 4);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        const auto to = space_of({rows, 2});
        const std::array<hsize_t, 2> begin{};
        const std::array<hsize_t, 2> extents{shown, 2};
        H5Sselect_hyperslab(to, H5S_SELECT_SET, begin.data(), nullptr, extents.data(), nullptr);
        H5Pset_virtual(creation, to, "part.h5", "x", space_of({shown, 2}));
        file.dataset("x", {rows, 2}, H5T_IEEE_F32LE, creation);
    };
    make(4, 3);
    EXPECT_THAT(refusal(), HasSubstr("part.h5: dataset 'x' has another shape than 'x' of"));
    make(8, 4);
    EXPECT_THAT(refusal(), HasSubstr("dataset 'x' is a virtual one of 16 values, and its parts have 8"));
    make(4, 4);
    EXPECT_EQ(refusal(), "");
}

TEST_F(HostileHdf5, ValuesThatWereNeverWrittenTakeNoMemory) {
    constexpr hsize_t rows = 1 << 20;
    const auto make = [&](hid_t creation) {
        RawFile file(file_);
        file.labels("y", 4);
        file.dataset("x", {rows, 256}, H5T_IEEE_F32LE, creation);
    };
    const auto chunked = H5Pcreate(H5P_DATASET_CREATE);
    const std::array<hsize_t, 2> chunk{1024, 256};
    H5Pset_chunk(chunked, 2, chunk.data());
    make(chunked);
    EXPECT_LT(std::filesystem::file_size(file_), 8000U);
    EXPECT_THAT(refusal(), HasSubstr("dataset 'x' has 0 of its 1024 chunks; the others were never written"));
    H5Pset_deflate(chunked, 1);
    make(chunked);
    EXPECT_THAT(refusal(), HasSubstr("dataset 'x' has 0 of its 1024 chunks"));
    make(H5P_DEFAULT);
    EXPECT_THAT(refusal(),
                HasSubstr("dataset 'x' says that it has 268435456 values, but none was ever written"));
}

TEST_F(HostileHdf5, SomeChunksAreNotAll) {
    const auto creation = H5Pcreate(H5P_DATASET_CREATE);
    const std::array<hsize_t, 2> chunk{3, 2};
    H5Pset_chunk(creation, 2, chunk.data());
    H5Pset_deflate(creation, 1);
    {
        RawFile file(file_);
        file.labels("y", 10);
        file.floats("x", {10, 2}, creation);
    }
    EXPECT_EQ(Dataset::read({.file = file_}).x(9)[1], 19);
    {
        RawFile file(file_);
        file.labels("y", 10);
        const auto x = file.dataset("x", {10, 2}, H5T_IEEE_F32LE, creation);
        const auto space = space_of({10, 2});
        const std::array<hsize_t, 2> begin{};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, chunk.data(), nullptr);
        const std::vector<float> values(6);
        H5Dwrite(x, H5T_NATIVE_FLOAT, space_of({3, 2}), space, H5P_DEFAULT, values.data());
    }
    EXPECT_THAT(refusal(), HasSubstr("dataset 'x' has 1 of its 4 chunks; the others were never written"));
}

// A file that says by its address and size that values are where it has ended.
TEST_F(HostileHdf5, ValuesBehindTheEndOfTheFile) {
    {
        RawFile file(file_);
        file.labels("y", 4);
        const auto creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
        file.dataset("x", {1 << 20, 256}, H5T_IEEE_F32LE, creation);
    }
    std::filesystem::resize_file(file_, 100'000);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file_.string()), HasSubstr("cut off")));
}

TEST_F(HostileHdf5, ACheckpointOfFormat1IsReadLikeData) {
    const auto path = folder_ / "data" / "epoch-000001.h5";
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::copy_file(std::filesystem::path(DTRAIN_RELEASED) / "0.1-format-1.h5", path);
    const auto file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    H5Ldelete(file, "/parameters/fc_0.bias", H5P_DEFAULT);
    const auto creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, "/etc/passwd", 0, 12);
    const auto dataset = H5Dcreate2(file, "/parameters/fc_0.bias", H5T_IEEE_F32LE, space_of({3}), H5P_DEFAULT,
                                    creation, H5P_DEFAULT);
    H5Dclose(dataset);
    H5Fclose(file);
    EXPECT_THAT(message_of([&] { load_checkpoint(path); }), HasSubstr("has its values in other files"));
}

TEST_F(HostileHdf5, AFifoIsNoFile) {
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    EXPECT_THAT(message_of([&] { storage::Hdf5File::open(file_); }),
                HasSubstr("it is a FIFO, not a regular file"));
    EXPECT_THAT(message_of([&] { load_checkpoint(file_); }), HasSubstr("it is a FIFO, not a regular file"));
    EXPECT_THAT(refusal(), HasSubstr("it is a FIFO, not a regular file"));
}

}  // namespace
}  // namespace dtrain::data
