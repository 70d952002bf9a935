// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <dtrain/dataset.hpp>

#include "storage/hdf5_file.hpp"

namespace dtrain::data {

/// An HDF5 file with validated shapes, types and labels.
struct Hdf5Samples {
    DatasetSource source;
    storage::Hdf5File file;
    std::int64_t count = 0;
    std::int64_t features = 0;
    std::vector<std::int64_t> labels;
};

/// @throws UsageError naming file and dataset
Hdf5Samples open_samples(const DatasetSource& source);

/// Samples that stay on disk; the labels are in memory. expect() reads the announced samples ahead, in file
/// order and in blocks of whole chunks, so that each chunk is read at most once per window of lookahead()
/// samples. gather() reads samples that were not announced in the same way. Thread-safe; calls are
/// serialized.
class DiskDataset final : public DataSource {
  public:
    /// @param memory limit in bytes for the window and one block together
    DiskDataset(Hdf5Samples samples, std::int64_t memory);

    std::int64_t size() const override { return samples_.count; }
    std::int64_t features() const override { return samples_.features; }
    std::int64_t classes() const override { return classes_; }
    std::uint64_t fingerprint() const override;
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const override;
    std::int64_t lookahead() const override { return lookahead_; }
    void expect(std::span<const std::int64_t> samples) const override;

  private:
    std::span<float> row(std::span<float> rows, std::int64_t number) const;
    void read(std::int64_t first, std::int64_t count, std::span<float> x) const;
    /// Reads samples in file order, each block once.
    void read_blocks(std::span<const std::int64_t> samples, std::span<float> x) const;

    Hdf5Samples samples_;
    std::int64_t classes_ = 0;
    std::int64_t lookahead_ = 0;
    std::int64_t block_rows_ = 0;
    // Mutable: reading ahead does not change the observable state.
    mutable std::mutex mutex_;
    mutable std::vector<float> block_;
    mutable std::vector<float> window_;  ///< values of expected_
    mutable std::vector<std::int64_t> expected_;
    mutable std::vector<std::int64_t> order_;  ///< indices of samples being read, sorted by sample
    mutable std::size_t given_ = 0;            ///< how many of expected_ have been gathered
};

}  // namespace dtrain::data
