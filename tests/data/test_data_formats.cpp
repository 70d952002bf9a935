// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: texts and bytes written out here by hand, with the numbers that anybody reads in them; the example
// in the description of the IDX format. Files that other programs wrote are read in tests/jobs/test_data.py.
#include <filesystem>
#include <sys/stat.h>
#include <zlib.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/dataset.hpp>
#include <dtrain/error.hpp>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;
using tests::TemporaryFolder;
using tests::write_bytes;
using namespace std::string_literals;

std::vector<float> values_of(const Dataset& data) {
    std::vector<float> out;
    for (std::int64_t sample = 0; sample < data.size(); ++sample)
        out.insert(out.end(), data.x(sample).begin(), data.x(sample).end());
    return out;
}

std::vector<std::int64_t> labels_of(const Dataset& data) {
    std::vector<std::int64_t> out;
    for (std::int64_t sample = 0; sample < data.size(); ++sample) out.push_back(data.label(sample));
    return out;
}

class DataFormats : public testing::Test {
  protected:
    DatasetSource source(const std::string& name, const std::string& content) {
        write_bytes(folder / name, content);
        DatasetSource out;
        out.file = folder / name;
        return out;
    }
    std::string refusal(const DatasetSource& from) {
        auto message = message_of([&] { Dataset::read(from); });
        const auto at = message.find(folder.path().string() + "/");
        return at == std::string::npos ? message : message.erase(at, folder.path().string().size() + 1);
    }
    std::string csv_refusal(const std::string& content) { return refusal(source("d.csv", content)); }
    std::string svm_refusal(const std::string& content) { return refusal(source("d.svm", content)); }

    const TemporaryFolder folder;
};

TEST_F(DataFormats, CsvWithoutAHeader) {
    const auto data = Dataset::read(source("d.csv", "1,2.5,0\r\n-3e1, +4 ,2\n\n\"5\",6,1.0"));
    EXPECT_THAT(values_of(data), ElementsAre(1, 2.5F, -30, 4, 5, 6));
    EXPECT_THAT(labels_of(data), ElementsAre(0, 2, 1));
    EXPECT_EQ(data.features(), 2);
    EXPECT_EQ(data.classes(), 3);
}

TEST_F(DataFormats, CsvWithAHeaderAndALabelColumn) {
    auto from = source("d.txt", "click;age;price\n1;30;2\n0;40;4\n");
    from.separator = ';';
    from.scale = 0.5F;
    for (const char* label : {"click", "1"}) {
        from.label_column = label;
        const auto data = Dataset::read(from);
        EXPECT_THAT(values_of(data), ElementsAre(15, 1, 20, 2));
        EXPECT_THAT(labels_of(data), ElementsAre(1, 0));
    }
    from.label_column = "clicks";
    EXPECT_EQ(refusal(from), "d.txt:1: there is no column 'clicks' among 3 columns");
    from.label_column = "4";
    EXPECT_EQ(refusal(from), "d.txt:1: there is no column '4' among 3 columns");
    from = source("d.csv", "1,2,3\n4,5,6\n");
    from.header = true;
    EXPECT_THAT(values_of(Dataset::read(from)), ElementsAre(4, 5));
}

TEST_F(DataFormats, CsvErrorsNameFileAndLine) {
    EXPECT_EQ(csv_refusal("a,b\n1,0\n2,x\n"), "d.csv:3: 'x' is no number");
    EXPECT_EQ(csv_refusal("1,0\n\n1,2,0\n"), "d.csv:3: 3 columns instead of 2");
    EXPECT_EQ(csv_refusal("1,0\n1,-1\n"), "d.csv:2: label -1: labels are class numbers from 0 to 999999");
    EXPECT_EQ(csv_refusal("1,0.5\n"), "d.csv:1: label 0.5: labels are class numbers from 0 to 999999");
    EXPECT_EQ(csv_refusal("1e39,0\n"), "d.csv:1: 1e39 is not finite as float32");
    EXPECT_EQ(csv_refusal("nan,0\n"), "d.csv:1: nan is not finite as float32");
    EXPECT_EQ(csv_refusal("1 0\n"), "d.csv:1: there is no ',' in it; a line needs a value and a label");
    EXPECT_EQ(csv_refusal("a,b\n"), "d.csv: there is no sample in it");
    EXPECT_EQ(csv_refusal(""), "d.csv: there is no sample in it");
}

// A sample that cannot be read would else be taken for a header, and be missing without a word.
TEST_F(DataFormats, CsvWhoseFirstLineIsUnclearIsRefused) {
    const auto unclear = [](const char* field) {
        return fmt::format(
            "d.csv:1: '{}' is no number; if this line has the names of the columns, say so (header = "
            "true)",
            field);
    };
    for (const auto& [first, field] :
         {std::pair{"1.5,2..5,0", "2..5"}, std::pair{"1.5,,0", ""}, std::pair{"NA,1,0", "NA"},
          std::pair{"1.2.3,4x,5e", "1.2.3"}, std::pair{"n/a,NULL,?", "n/a"}, std::pair{",,", ""},
          std::pair{"id,2019,label", "id"}, std::pair{"12 kg,a,b", "12 kg"}, std::pair{"1,-3.x,0", "-3.x"}}) {
        auto from = source("d.csv", std::string(first) + "\n1,2,0\n");
        EXPECT_EQ(refusal(from), unclear(field)) << first;
        from.header = true;
        EXPECT_EQ(Dataset::read(from).size(), 1) << first;
        from.header = false;
        EXPECT_THAT(refusal(from), HasSubstr("d.csv:1: ")) << first;
    }
    for (const auto* names : {"a,b,label", "a,,label", "x-1,_2,L"})
        EXPECT_EQ(Dataset::read(source("d.csv", std::string(names) + "\n1,2,0\n")).size(), 1) << names;
}

TEST_F(DataFormats, LongFilesAreReadToTheirEnd) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + "," + std::to_string(i % 7) + "\n";
    const auto data = Dataset::read(source("d.csv", text));
    ASSERT_EQ(data.size(), 200'000);
    for (std::int64_t i = 0; i < data.size(); ++i) {
        ASSERT_EQ(data.x(i)[0], static_cast<float>(i));
        ASSERT_EQ(data.label(i), i % 7);
    }
}

TEST_F(DataFormats, Svmlight) {
    const auto text = "# clicks\n+1 1:0.5 3:2 # first\n-1 qid:7 2:-1\n\n-1\n"s;
    const auto data = Dataset::read(source("d.libsvm", text));
    EXPECT_THAT(values_of(data), ElementsAre(0.5F, 0, 2, 0, -1, 0, 0, 0, 0));
    EXPECT_THAT(labels_of(data), ElementsAre(1, 0, 0));
    EXPECT_EQ(data.features(), 3);
    auto from = source("d.svm", "0 0:1\n1 4:1\n");
    from.first_id = 0;
    from.features = 6;
    EXPECT_EQ(Dataset::read(from).features(), 6);
    from.features = 4;
    EXPECT_EQ(refusal(from), "d.svm:2: '4:1': there are only 4 features");
}

TEST_F(DataFormats, SvmlightErrorsNameFileAndLine) {
    EXPECT_EQ(svm_refusal("1 1:1\n1 2\n"), "d.svm:2: '2' is not ID:VALUE");
    EXPECT_EQ(svm_refusal("1 0:1\n"), "d.svm:1: '0:1': a feature id is a whole number, 1 or more");
    EXPECT_EQ(svm_refusal("1 2:1 2:1\n"), "d.svm:1: '2:1': feature ids have to ascend");
    EXPECT_EQ(svm_refusal("1 1:x\n"), "d.svm:1: 'x' is no number");
    EXPECT_EQ(svm_refusal("-2 1:1\n"), "d.svm:1: label -2: labels are class numbers from 0 to 999999");
    EXPECT_EQ(svm_refusal("-1 1:1\n2 1:1\n"), "d.svm: the label -1 goes with the label 1 alone");
    EXPECT_EQ(svm_refusal("1\n0\n"), "d.svm: no sample has a feature");
    EXPECT_EQ(svm_refusal("# nothing\n"), "d.svm: there is no sample in it");
    EXPECT_THAT(svm_refusal("1 9223372036854775807:1\n1 1:1\n"), HasSubstr("more than memory holds"));
}

// One wrong digit, and 19 bytes take 6 GB.
TEST_F(DataFormats, SvmlightIdsThatTakeAllMemoryAreRefused) {
    const auto expected =
        "d.svm: the feature id 1500000000 makes 1 sample of 1500000000 values out of 15 B; is it one? If so, "
        "say how "
        "many features there are (features = 1500000000)";
    auto from = source("d.svm", "1 1500000000:1\n");
    EXPECT_EQ(refusal(from), expected);
    from.features = std::int64_t{1} << 50;
    EXPECT_THAT(refusal(from),
                testing::StartsWith("d.svm has 1125899906842624 values, more than memory holds"));
    from.features = 1'499'999'999;
    EXPECT_EQ(refusal(from), "d.svm:1: '1500000000:1': there are only 1499999999 features");
    // Rows of usual lengths are taken as they are.
    EXPECT_EQ(Dataset::read(source("d.svm", "1 1000000:1\n")).features(), 1'000'000);
}

const std::string images = "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03\x01\x02\x03\xff\0\x80"s;
const std::string idx_digits = "\0\0\x08\x01\0\0\0\x02\x07\x02"s;

TEST_F(DataFormats, Idx) {
    auto from = source("train-images-idx3-ubyte", images);
    source("train-labels-idx1-ubyte", idx_digits);
    from.scale = 2;
    const auto data = Dataset::read(from);
    EXPECT_THAT(values_of(data), ElementsAre(2, 4, 6, 510, 0, 256));
    EXPECT_THAT(labels_of(data), ElementsAre(7, 2));
    // 16 and 32 bit whole numbers and both kinds of fractions: -2 and 1.
    for (const auto& elements :
         {"\x09\x02\0\0\0\x02\0\0\0\x01\xfe\x01"s, "\x0b\x02\0\0\0\x02\0\0\0\x01\xff\xfe\0\x01"s,
          "\x0c\x02\0\0\0\x02\0\0\0\x01\xff\xff\xff\xfe\0\0\0\x01"s,
          "\x0d\x02\0\0\0\x02\0\0\0\x01\xc0\0\0\0\x3f\x80\0\0"s,
          "\x0e\x02\0\0\0\x02\0\0\0\x01\xc0\0\0\0\0\0\0\0\x3f\xf0\0\0\0\0\0\0"s}) {
        auto other = source("x.idx", "\0\0"s + elements);
        other.labels = folder / "train-labels-idx1-ubyte";
        EXPECT_THAT(values_of(Dataset::read(other)), ElementsAre(-2, 1));
    }
}

TEST_F(DataFormats, ACompressedFileIsReadWhereThePlainOneIsMissing) {
    source("train-images-idx3-ubyte.gz", images);
    source("train-labels-idx1-ubyte.gz", idx_digits);
    DatasetSource from{.file = folder / "train-images-idx3-ubyte"};
    EXPECT_THAT(labels_of(Dataset::read(from)), ElementsAre(7, 2));
    from.labels = folder / "train-labels-idx1-ubyte";
    EXPECT_THAT(labels_of(Dataset::read(from)), ElementsAre(7, 2));
    source("train-images-idx3-ubyte", "\0\0\x08\x02\0\0\0\x02\0\0\0\x01\x05\x06"s);
    EXPECT_THAT(values_of(Dataset::read(from)), ElementsAre(5, 6)) << "the plain file goes first";
    from.file = folder / "none";
    EXPECT_EQ(refusal(from), "cannot read none: No such file or directory");
}

TEST_F(DataFormats, IdxErrorsNameTheFile) {
    source("labels-idx1", idx_digits);
    const auto refused = [&](const std::string& content) { return refusal(source("images-idx3", content)); };
    for (std::size_t length = 2; length < images.size(); ++length)
        ASSERT_EQ(refused(images.substr(0, length)), "images-idx3: the IDX file is cut off") << length;
    EXPECT_EQ(refused(images + "x"), "images-idx3: the IDX file goes on behind its last element");
    EXPECT_EQ(refused("\0\0\x07\x01\0\0\0\x01\0"s),
              "images-idx3: this is no IDX file, or its beginning is damaged");
    EXPECT_THAT(refused("\0\0\x08\x03\0\xff\xff\xff\0\xff\xff\xff\0\0\x01\0x"s),
                testing::MatchesRegex("images-idx3 has 72057585447993600 values, more than memory holds.*"));
    EXPECT_EQ(refused("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s),
              "images-idx3: the IDX file has an impossible size");
    EXPECT_THAT(refused("\0\0\x08\x03\0\0\0\x01\0\0\0\x01\0\0\0\x01x"s),
                HasSubstr("labels-idx1: 2 labels, but"));
    EXPECT_THAT(refusal(source("x.idx", images)), HasSubstr("needs 'labels'"));
    std::filesystem::remove(folder / "labels-idx1");
    ASSERT_EQ(::mkfifo((folder / "labels-idx1").c_str(), 0600), 0);
    EXPECT_THAT(refused(images), HasSubstr("labels-idx1: it is a FIFO, not a regular file"));
}

std::string compressed(const TemporaryFolder& folder, const std::string& content) {
    const auto path = (folder / "compressed").string();
    auto* file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    ::gzclose(file);
    return tests::bytes_of(path);
}

TEST_F(DataFormats, Compressed) {
    EXPECT_THAT(values_of(Dataset::read(source("d.csv.gz", compressed(folder, "1,0\n2,1\n")))),
                ElementsAre(1, 2));
    EXPECT_THAT(values_of(Dataset::read(source("d.svm.gz", compressed(folder, "1 1:3\n0 1:4\n")))),
                ElementsAre(3, 4));
    source("labels-idx1.gz", compressed(folder, idx_digits));
    const auto idx = compressed(folder, images);
    EXPECT_EQ(Dataset::read(source("images-idx3.gz", idx)).size(), 2);
    for (std::size_t length = 4; length < idx.size(); ++length)
        ASSERT_THAT(refusal(source("images-idx3.gz", idx.substr(0, length))), HasSubstr("images-idx3.gz"))
            << length;
}

TEST_F(DataFormats, MemoryIsLimited) {
    const auto from = source("d.csv", "1,2,0\n3,4,1\n");
    EXPECT_EQ(open_data(from, 16)->size(), 2);
    EXPECT_THAT(message_of([&] { open_data(from, 15); }),
                HasSubstr("need more memory than the 15 bytes allowed"));
}

}  // namespace
}  // namespace dtrain
