// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <dtrain/dataset.hpp>

#include "io/hdf5_file.hpp"

namespace dtrain::io {

/// An HDF5 file whose shapes, types and labels were found to be those of a data set.
struct Hdf5Samples {
    DatasetSource source;
    Hdf5File file;
    std::int64_t count = 0;
    std::int64_t features = 0;
    std::vector<std::int64_t> labels;
};

/// @throws UsageError naming file and dataset.
Hdf5Samples open_samples(const DatasetSource& source);

/// Samples that stay in their file; the labels are in memory. What gather() will ask for is read before, in
/// the order of the file and in blocks that are whole chunks, so that each window of lookahead() samples
/// reads a chunk at most once; what it was not told of, gather() reads likewise. Several threads may use one:
/// they take turns.
class DiskDataset final : public DataSource {
  public:
    /// @param memory bytes for the window and a block together
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
    /// Reads samples in the order of the file, each block once.
    void read_blocks(std::span<const std::int64_t> samples, std::span<float> x) const;

    Hdf5Samples samples_;
    std::int64_t classes_ = 0;
    std::int64_t lookahead_ = 0;
    std::int64_t block_rows_ = 0;
    // What is read ahead changes nothing that can be seen.
    mutable std::mutex mutex_;
    mutable std::vector<float> block_;
    mutable std::vector<float> window_;  ///< values of expected_
    mutable std::vector<std::int64_t> expected_;
    mutable std::vector<std::int64_t> order_;  ///< places of samples that are read, by sample
    mutable std::size_t given_ = 0;            ///< how many of expected_ were gathered
};

}  // namespace dtrain::io
