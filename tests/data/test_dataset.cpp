// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: values written by the test itself, or, for the digits, by h5py (sums and samples worked out with
// numpy from the file's maker); damage is done by the test, so each damaged file must be refused by name.
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/dataset.hpp>
#include <dtrain/error.hpp>

#include "storage/hdf5_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::bytes_of;
using tests::message_of;
using tests::TemporaryFolder;
using tests::write_bytes;

const std::filesystem::path digits = DTRAIN_DIGITS;

DatasetSource digits_source(const std::filesystem::path& file = digits) {
    return {file, "train/x", "train/y", 1};
}

TEST(Dataset, ReadsTheDigits) {
    auto source = digits_source();
    const auto train = Dataset::read(source);
    EXPECT_EQ(train.size(), 1408);
    EXPECT_EQ(train.features(), 64);
    EXPECT_EQ(train.classes(), 10);
    std::vector<std::int64_t> counts(10);
    double sum = 0;
    for (std::int64_t i = 0; i < train.size(); ++i) {
        ++counts[static_cast<std::size_t>(train.label(i))];
        const auto x = train.x(i);
        sum = std::accumulate(x.begin(), x.end(), sum);
    }
    EXPECT_THAT(counts, testing::ElementsAre(142, 144, 141, 146, 147, 149, 138, 131, 128, 142));
    EXPECT_EQ(sum, 438893);

    source.scale = 0.0625F;
    const auto scaled = Dataset::read(source);
    for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(scaled.x(1407)[k], train.x(1407)[k] / 16);
    EXPECT_EQ(Dataset::read({digits, "test/x", "test/y", 1}).size(), 389);
}

struct SmallFile {
    TemporaryFolder folder;
    std::filesystem::path path = folder / "data.h5";
    SmallFile() {
        auto file = storage::Hdf5File::create(path);
        const std::vector<std::int64_t> image{3, 2, 2}, rows{3}, two{2}, empty{0, 4};
        std::vector<float> x(12);
        std::iota(x.begin(), x.end(), 0.5F);
        file.write("x", image, std::span<const float>(x));
        const std::vector<std::int64_t> y{2, 0, 1}, negative{0, -1, 0}, huge{0, 1'000'000, 0};
        file.write("y", rows, std::span(y));
        file.write("negative", rows, std::span(negative));
        file.write("huge", rows, std::span(huge));
        file.write("short", two, std::span(y).first(2));
        file.write("y_of_floats", rows, std::span<const float>(x).first(3));
        file.write("empty", empty, std::span<const float>());
        x[5] = std::numeric_limits<float>::quiet_NaN();
        file.write("nan", image, std::span<const float>(x));
        x[5] = 3e38F;
        file.write("large", image, std::span<const float>(x));
        file.make_group("group");
        file.close();
    }
    std::string refused(const std::string& x, const std::string& y, float scale = 1) const {
        return message_of<UsageError>([&] { Dataset::read({path, x, y, scale}); });
    }
};

TEST(Dataset, FlattensSamplesAndGathers) {
    const SmallFile small;
    const auto data = Dataset::read({small.path, "x", "y", 2});
    EXPECT_EQ(data.size(), 3);
    EXPECT_EQ(data.features(), 4);
    EXPECT_EQ(data.classes(), 3);
    std::vector<float> x(8);
    std::vector<std::int64_t> labels(2);
    const std::vector<std::int64_t> samples{2, 0};
    data.gather(samples, x, labels);
    EXPECT_THAT(x, testing::ElementsAre(17, 19, 21, 23, 1, 3, 5, 7));
    EXPECT_THAT(labels, testing::ElementsAre(1, 2));
    EXPECT_THROW(data.gather(samples, std::span(x).first(7), labels), Error);
}

TEST(Dataset, NamesFileAndDatasetInEveryRefusal) {
    const SmallFile small;
    struct Case {
        std::string x, y, what;
    };
    const std::vector<Case> cases = {
        {"nothing", "y", "no dataset 'nothing'"},
        {"group/deep/x", "y", "no dataset 'group/deep/x'"},
        {"group", "y", "'group' is a group"},
        {"x", "nothing", "no dataset 'nothing'"},
        {"y", "y", "dataset 'y' has shape [3]"},
        {"x", "x", "dataset 'x' does not hold integers"},
        {"x", "y_of_floats", "'y_of_floats' does not hold integers"},
        {"x", "short", "'short' has 2 labels, but 'x' has 3 samples"},
        {"x", "negative", "'negative' has the label -1"},
        {"x", "huge", "'huge' has the label 1000000"},
        {"nan", "y", "'nan' has a value that is not finite as float32, in sample 1"},
        {"empty", "y", "'empty' has shape [0, 4]; it is empty"},
    };
    for (const auto& [x, y, what] : cases) {
        const auto message = small.refused(x, y);
        EXPECT_THAT(message, HasSubstr(what));
        EXPECT_THAT(message, testing::StartsWith(small.path.string()));
        EXPECT_EQ(message.find('\n'), std::string::npos);
    }
    EXPECT_EQ(small.refused("large", "y"), "");
    EXPECT_THAT(small.refused("large", "y", 16), HasSubstr("'large' has a value that is not finite"));
}

TEST(Dataset, RefusesWhatIsNoFile) {
    const TemporaryFolder folder;
    const auto refused = [&](const std::filesystem::path& path) {
        return message_of<UsageError>([&] { Dataset::read(digits_source(path)); });
    };
    EXPECT_EQ(refused(folder / "no.h5"),
              "cannot read " + (folder / "no.h5").string() + ": No such file or directory");
    EXPECT_THAT(refused(folder.path()), HasSubstr("it is a folder"));
    write_bytes(folder / "text.h5", "epoch,loss\n1,0.5\n");
    EXPECT_THAT(refused(folder / "text.h5"), HasSubstr("text.h5: this is no HDF5 file"));
    write_bytes(folder / "zero.h5", "");
    EXPECT_THAT(refused(folder / "zero.h5"), HasSubstr("zero.h5: this is no HDF5 file"));
}

TEST(Dataset, RefusesAFileCutOffAnywhere) {
    const TemporaryFolder folder;
    const auto whole = bytes_of(digits);
    const auto cut = folder / "cut.h5";
    std::vector<std::size_t> lengths;
    for (std::size_t length = 0; length < 600; length += 7) lengths.push_back(length);
    for (std::size_t length = 600; length < whole.size(); length += 997) lengths.push_back(length);
    lengths.push_back(whole.size() - 1);
    for (const auto length : lengths) {
        write_bytes(cut, whole.substr(0, length));
        const auto message = message_of<UsageError>([&] { Dataset::read(digits_source(cut)); });
        EXPECT_THAT(message, HasSubstr("cut.h5")) << "after " << length << " of " << whole.size() << " bytes";
    }
}

// A flipped byte may lie where nothing is stored; otherwise the data's own checksums (deflate's Adler-32, the
// format's Fletcher sums) must notice. What must not happen is a crash or other values.
TEST(Dataset, DamageIsNoticedOrHarmless) {
    const TemporaryFolder folder;
    const auto whole = bytes_of(digits);
    const auto expected = Dataset::read(digits_source()).fingerprint();
    const auto damaged = folder / "damaged.h5";
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); at += 211) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x5a);
        write_bytes(damaged, bytes);
        try {
            EXPECT_EQ(Dataset::read(digits_source(damaged)).fingerprint(), expected) << "byte " << at;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr("damaged.h5"));
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

TEST(Dataset, FingerprintTellsDataApart) {
    const std::vector<float> x{1, 2, 3, 4};
    const Dataset a(x, {0, 1}, 2);
    EXPECT_EQ(a.fingerprint(), Dataset(x, {0, 1}, 2).fingerprint());
    EXPECT_NE(a.fingerprint(), Dataset(x, {1, 0}, 2).fingerprint());
    EXPECT_NE(a.fingerprint(), Dataset({1, 2, 3, 5}, {0, 1}, 2).fingerprint());
    EXPECT_NE(a.fingerprint(), Dataset(x, {0, 1, 0, 0}, 1).fingerprint());
    EXPECT_THROW(Dataset(x, {0, 1, 2}, 2), UsageError);
    EXPECT_THROW(Dataset(x, {0, -1}, 2), UsageError);
}

}  // namespace
}  // namespace dtrain
