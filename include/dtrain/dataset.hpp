// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

/// How a data file is written. All but HDF5 may be compressed by gzip.
enum class DataFormat {
    hdf5,     ///< two datasets of an HDF5 file
    idx,      ///< MNIST's files: images here, labels in a second file
    csv,      ///< a line per sample, numbers between separators, one column is the label
    svmlight  ///< a line per sample, "LABEL ID:VALUE ID:VALUE ... # comment"; also called libsvm
};

/// Where a data set lies.
struct DatasetSource {
    std::filesystem::path file = {};
    std::string x =
        "x";  ///< HDF5: samples, rank >= 2, first dimension is the sample; any integer or float type
    std::string y = "y";                    ///< HDF5: labels, rank 1, any integer type
    float scale = 1;                        ///< what every value of x is multiplied with
    std::optional<DataFormat> format = {};  ///< none: from the file's first bytes and its name
    std::filesystem::path labels = {};      ///< IDX: empty: `file` with "labels-idx1" for "images-idx3"
    std::string label_column = {};          ///< CSV: its name or its number from 1; empty: the last
    char separator = ',';                   ///< CSV
    /// CSV: none: when no field of the first line is a number, or is meant as one. A line with both is
    /// refused.
    std::optional<bool> header = {};
    std::int64_t first_id = 1;  ///< svmlight: the least feature id
    std::int64_t features = 0;  ///< svmlight: how many there are; 0: as the greatest id says
    friend bool operator==(const DatasetSource&, const DatasetSource&) = default;
};

/// Labelled samples, wherever they lie: x as float32 times the source's scale, y as class numbers 0, 1, 2,
/// ... One thread at a time.
class DataSource {
  public:
    DataSource() = default;
    DataSource(const DataSource&) = default;
    DataSource(DataSource&&) = default;
    DataSource& operator=(const DataSource&) = default;
    DataSource& operator=(DataSource&&) = default;
    virtual ~DataSource() = default;

    virtual std::int64_t size() const = 0;
    /// Values per sample: the product of x's dimensions but the first.
    virtual std::int64_t features() const = 0;
    /// One more than the greatest label.
    virtual std::int64_t classes() const = 0;
    /// What tells these data from others: a 64-bit hash. Two data sets with the same fingerprint are the
    /// same, as far as it looks: see what the sources say.
    virtual std::uint64_t fingerprint() const = 0;

    /// Copies samples into a batch buffer, `samples.size()` rows of features() values and as many labels.
    /// @throws UsageError naming file and sample when they cannot be read or a value is not finite.
    virtual void gather(std::span<const std::int64_t> samples, std::span<float> x,
                        std::span<std::int64_t> labels) const = 0;

    /// How many samples this source wants to be told of before they are gathered, so that it reads them in
    /// the order of the file; 0: it need not be told.
    virtual std::int64_t lookahead() const { return 0; }
    /// The next calls of gather() ask for these samples, in this order: at most lookahead() of them.
    virtual void expect(std::span<const std::int64_t> samples) const { static_cast<void>(samples); }
};

/// Labelled samples in memory: row after row. Its fingerprint is over all values.
class Dataset final : public DataSource {
  public:
    /// Reads all of it. Not collective: every rank that needs the data reads them.
    /// @throws UsageError naming the file (and dataset, or line) when it cannot be read, is cut off or
    /// damaged, lacks a dataset or column, or shapes, types or labels (negative) do not fit; values that are
    /// not finite are refused.
    static Dataset read(const DatasetSource& source);

    /// From memory. @throws UsageError when x is not `labels.size()` rows of `features` values.
    Dataset(std::vector<float> x, std::vector<std::int64_t> labels, std::int64_t features);

    std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
    std::int64_t features() const override { return features_; }
    std::int64_t classes() const override { return classes_; }
    std::uint64_t fingerprint() const override;
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const override;

    std::span<const float> x(std::int64_t sample) const;
    std::int64_t label(std::int64_t sample) const { return labels_[static_cast<std::size_t>(sample)]; }

  private:
    std::vector<float> x_;
    std::vector<std::int64_t> labels_;
    std::int64_t features_ = 0;
    std::int64_t classes_ = 0;
};

/// Opens a data set: in memory when its values need at most `memory` bytes there as float32, else an HDF5
/// file stays on disk (other formats are refused then). What is on disk is read in blocks that fit the chunks
/// of the file, at most `memory` bytes at a time; its fingerprint is over the shape, all labels and 64
/// samples, and a value that is not finite is found when it is gathered.
/// @throws UsageError as Dataset::read.
std::shared_ptr<const DataSource> open_data(const DatasetSource& source, std::int64_t memory);

}  // namespace dtrain
