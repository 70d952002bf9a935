// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"

/// A click log in binary, for reading samples in any order. Format, little endian:
///
///     4096 bytes   "dtrain click cache 1\n", ClickCacheInfo as JSON, zeros; XXH3 of all these in the last 8
///     blocks       of block_samples() each, except the last one: their ids, their numbers, their labels,
///                  as in ClickLog; then XXH3 of these bytes with the block's number as seed
///
/// It is not HDF5, because threads must read it while another one writes a checkpoint (HDF5 has one global
/// lock), and because the offset of a sample is then a product, without looking up an index.
namespace dtrain::data {

/// Identifies the state of a log when it was read.
struct ClickLogMark {
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< nanoseconds since 1970
    std::uint64_t layout = 0;      ///< hash of the ClickLayout
    friend bool operator==(const ClickLogMark&, const ClickLogMark&) = default;
};

struct ClickCacheInfo {
    ClickLogMark log;
    std::int64_t integers = 0;
    std::int64_t slots = 0;
    std::int64_t samples = 0;
    std::uint64_t fingerprint = 0;  ///< ClickLog::fingerprint()
    friend bool operator==(const ClickCacheInfo&, const ClickCacheInfo&) = default;
};

/// A file that is not a valid cache.
class DamagedCache : public Error {
  public:
    DamagedCache(const std::filesystem::path& file, const std::string& what)
        : Error(file.string() + ": " + what), file_(file) {}
    const std::filesystem::path& file() const { return file_; }

  private:
    std::filesystem::path file_;
};

/// Size of a sample in bytes.
constexpr std::int64_t click_row_bytes(std::int64_t integers, std::int64_t slots) {
    return slots * static_cast<std::int64_t>(sizeof(std::int64_t)) +
           (integers + 1) * static_cast<std::int64_t>(sizeof(float));
}

/// Number of samples per block: even, and as many as fit in 64 KiB, but at least two.
std::int64_t block_samples(std::int64_t integers, std::int64_t slots);

/// Consecutive samples of the file.
class ClickBlock {
  public:
    std::int64_t first() const { return first_; }
    std::int64_t size() const { return size_; }
    std::span<const std::int64_t> ids() const;
    std::span<const float> dense() const;
    std::span<const float> labels() const;

  private:
    friend class ClickCacheFile;

    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
    std::int64_t integers_ = 0;
    std::int64_t slots_ = 0;
    std::vector<std::byte> memory_;  ///< the file's bytes, including the checksum
};

/// A cache opened for reading. Thread-safe.
class ClickCacheFile {
  public:
    /// Checks the header and the file size.
    /// @throws UsageError if it cannot be opened, DamagedCache, std::system_error
    explicit ClickCacheFile(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }
    const ClickCacheInfo& info() const { return info_; }
    std::int64_t blocks() const;
    std::int64_t samples_of_a_block() const { return block_samples_; }
    /// Size of the file.
    std::int64_t bytes() const;

    /// @throws DamagedCache naming the samples, std::system_error
    void read(std::int64_t block, ClickBlock& into) const;

  private:
    std::filesystem::path path_;
    FileDescriptor file_;
    ClickCacheInfo info_;
    std::int64_t block_samples_ = 0;
};

/// A cache being created, block by block. The file is not a valid cache until finish().
class ClickCacheWriter {
  public:
    /// @throws std::system_error, as do all member functions
    ClickCacheWriter(std::filesystem::path path, std::int64_t integers, std::int64_t slots);

    std::int64_t samples_of_a_block() const { return block_samples_; }

    /// Writes a full block of samples; only the last one may have fewer.
    void write(const ClickLog& block);

    /// Reads everything again to compute the fingerprint. Does not sync.
    ClickCacheInfo finish(const ClickLogMark& log);

  private:
    std::uint64_t fingerprint() const;

    std::filesystem::path path_;
    FileDescriptor file_;
    ClickCacheInfo info_;
    std::int64_t block_samples_;
    std::vector<std::byte> bytes_;
};

}  // namespace dtrain::data
