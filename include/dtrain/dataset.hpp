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

/// Formats of data files. All but HDF5 may be gzip-compressed.
enum class DataFormat {
    hdf5,     ///< two datasets in an HDF5 file
    idx,      ///< MNIST's format: images in this file, labels in a second file
    csv,      ///< a line per sample; numbers between separators; one column is the label
    svmlight  ///< a line per sample, "LABEL ID:VALUE ID:VALUE ... # comment"; also called libsvm
};

/// Location and format of a data set.
struct DatasetSource {
    std::filesystem::path file = {};  ///< where it is missing, FILE.gz is read
    std::string x =
        "x";  ///< HDF5: samples, rank >= 2, first dimension is the sample; any integer or float type
    std::string y = "y";                    ///< HDF5: labels, rank 1, any integer type
    float scale = 1;                        ///< factor for all values of x
    std::optional<DataFormat> format = {};  ///< none: detected from the file's first bytes and its name
    std::filesystem::path labels = {};      ///< IDX: empty: `file` with "labels-idx1" for "images-idx3"
    std::string label_column = {};          ///< CSV: its name or its number from 1; empty: the last column
    char separator = ',';                   ///< CSV
    /// CSV: whether the first line is a header. None: it is one if none of its fields is a number or is meant
    /// as one. A first line with both is refused.
    std::optional<bool> header = {};
    std::int64_t first_id = 1;  ///< svmlight: the smallest feature id
    std::int64_t features = 0;  ///< svmlight: number of features; 0: determined by the largest id
    friend bool operator==(const DatasetSource&, const DatasetSource&) = default;
};

/// Labelled samples from any source: x as float32 multiplied by the source's scale, y as class numbers 0, 1,
/// 2, ... Use from one thread at a time.
class DataSource {
  public:
    DataSource() = default;
    DataSource(const DataSource&) = default;
    DataSource(DataSource&&) = default;
    DataSource& operator=(const DataSource&) = default;
    DataSource& operator=(DataSource&&) = default;
    virtual ~DataSource() = default;

    /// Number of samples.
    virtual std::int64_t size() const = 0;
    /// Values per sample: the product of all dimensions of x except the first.
    virtual std::int64_t features() const = 0;
    /// The largest label + 1.
    virtual std::int64_t classes() const = 0;
    /// Identifies the data: a 64-bit hash. Two data sets with the same fingerprint are the same as far as the
    /// hash covers the data; see the individual sources.
    virtual std::uint64_t fingerprint() const = 0;

    /// Copies samples into a batch buffer: `samples.size()` rows of features() values, and one label per row.
    /// @throws UsageError naming file and sample if they cannot be read or a value is not finite.
    virtual void gather(std::span<const std::int64_t> samples, std::span<float> x,
                        std::span<std::int64_t> labels) const = 0;

    /// How many samples to announce by expect() before they are gathered, so that the source can read them in
    /// file order; 0: none need to be announced.
    virtual std::int64_t lookahead() const { return 0; }
    /// Announces the samples of the next calls of gather(), in this order: at most lookahead() of them.
    virtual void expect(std::span<const std::int64_t> samples) const { static_cast<void>(samples); }
};

/// Labelled samples in memory, row by row. Its fingerprint covers all values.
class Dataset final : public DataSource {
  public:
    /// Reads the complete data set. Not collective: every rank that needs the data reads it.
    /// @throws UsageError naming the file (and dataset, or line) if it cannot be read, is truncated or
    /// damaged, lacks a dataset or column, or if shapes, types or labels (negative) are invalid; values that
    /// are not finite are refused.
    static Dataset read(const DatasetSource& source);

    /// Takes samples from memory. @throws UsageError if x is not `labels.size()` rows of `features` values.
    Dataset(std::vector<float> x, std::vector<std::int64_t> labels, std::int64_t features);

    /// Number of samples.
    std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
    std::int64_t features() const override { return features_; }
    std::int64_t classes() const override { return classes_; }
    std::uint64_t fingerprint() const override;
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const override;

    /// The values of a sample, features() of them. Valid as long as the data set.
    std::span<const float> x(std::int64_t sample) const;
    /// The label of a sample.
    std::int64_t label(std::int64_t sample) const { return labels_[static_cast<std::size_t>(sample)]; }

  private:
    std::vector<float> x_;
    std::vector<std::int64_t> labels_;
    std::int64_t features_ = 0;
    std::int64_t classes_ = 0;
};

/// Opens a data set: in memory if its values need at most `memory` bytes as float32; otherwise an HDF5 file
/// stays on disk (other formats are then refused). A file on disk is read in blocks that match its chunks, at
/// most `memory` bytes at a time; its fingerprint covers the shape, all labels and 64 samples, and a value
/// that is not finite is detected when it is gathered.
/// @throws UsageError as Dataset::read.
std::shared_ptr<const DataSource> open_data(const DatasetSource& source, std::int64_t memory);

}  // namespace dtrain
