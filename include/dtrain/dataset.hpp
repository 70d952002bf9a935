// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

/// Where a data set lies: an HDF5 file and the names of its two datasets.
struct DatasetSource {
    std::filesystem::path file;
    std::string x = "x";  ///< samples, rank >= 2, first dimension is the sample; any integer or float type
    std::string y = "y";  ///< labels, rank 1, any integer type
    float scale = 1;      ///< what every value of x is multiplied with
    friend bool operator==(const DatasetSource&, const DatasetSource&) = default;
};

/// Labelled samples in memory: x as float32 times the source's scale, row after row, y as class numbers.
class Dataset {
  public:
    /// Reads all of it. Not collective: every rank that needs the data reads them.
    /// @throws UsageError naming file and dataset when the file cannot be read, is cut off or damaged, lacks
    /// a dataset, or shapes, types or labels (negative) do not fit; values that are not finite are refused.
    static Dataset read(const DatasetSource& source);

    /// From memory. @throws UsageError when x is not `labels.size()` rows of `features` values.
    Dataset(std::vector<float> x, std::vector<std::int64_t> labels, std::int64_t features);

    std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
    /// Values per sample: the product of x's dimensions but the first.
    std::int64_t features() const { return features_; }
    /// One more than the greatest label.
    std::int64_t classes() const { return classes_; }

    std::span<const float> x(std::int64_t sample) const;
    std::int64_t label(std::int64_t sample) const { return labels_[static_cast<std::size_t>(sample)]; }

    /// Copies samples into a batch buffer, `samples.size()` rows of features() values and as many labels.
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const;

    /// 64-bit hash of shapes and values: two sets of data with the same fingerprint are the same.
    std::uint64_t fingerprint() const;

  private:
    std::vector<float> x_;
    std::vector<std::int64_t> labels_;
    std::int64_t features_ = 0;
    std::int64_t classes_ = 0;
};

}  // namespace dtrain
