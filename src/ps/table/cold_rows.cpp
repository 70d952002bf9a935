// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/cold_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <utility>
#include <vector>
#if __has_include(<rocksdb/advanced_cache.h>)
#include <rocksdb/advanced_cache.h>  // from RocksDB 8 on, what a cache can do is declared here
#endif

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "ps/table/row_arena.hpp"
#include "ps/table/spill_folder.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t id_bytes = sizeof(std::int64_t);
constexpr std::size_t stamp_bytes = sizeof(std::uint32_t);

rocksdb::Slice slice(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Key = std::array<std::byte, id_bytes>;

/// Byte order of keys equals the order of ids.
Key key_of(std::int64_t id) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
    return std::bit_cast<Key>(__builtin_bswap64(static_cast<std::uint64_t>(id) ^ sign));
}

std::int64_t id_of(const rocksdb::Slice& key) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, key.data(), id_bytes);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
    return static_cast<std::int64_t>(__builtin_bswap64(bits) ^ sign);
}

/// Assembles a row from its key and its value, which is the stamp followed by the rest of the row.
class RowBuffer {
  public:
    explicit RowBuffer(std::size_t row_bytes) : bytes_(row_bytes) {}

    const ColdRow& set(const rocksdb::Slice& key, const rocksdb::Slice& value) {
        const auto id = id_of(key);
        std::memcpy(bytes_.data(), &id, id_bytes);
        std::memcpy(bytes_.data() + id_bytes, value.data() + stamp_bytes, bytes_.size() - id_bytes);
        row_.bytes = bytes_;
        std::memcpy(&row_.stamp, value.data(), stamp_bytes);
        return row_;
    }

    bool fits(const rocksdb::Slice& key, const rocksdb::Slice& value) const {
        return key.size() == id_bytes && value.size() == bytes_.size() - id_bytes + stamp_bytes;
    }

  private:
    std::vector<std::byte> bytes_;
    ColdRow row_;
};

/// The database is a cache that the job can rebuild from its checkpoint: no write-ahead log, no compression
/// of floats.
rocksdb::Options database_options(std::size_t memory, const std::shared_ptr<rocksdb::Cache>& cache) {
    constexpr double filter_bits = 10;  // bits per id: for ids never seen, 1% of lookups read the disk
    rocksdb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = std::clamp<std::size_t>(memory / 64, 64U << 10U, 64U << 20U);
    options.max_write_buffer_number = 2;
    options.memtable_prefix_bloom_size_ratio = 0.1;
    options.memtable_whole_key_filtering = true;
    options.level_compaction_dynamic_level_bytes = true;
    options.max_bytes_for_level_base = 4 * options.write_buffer_size;
    // Files stay open and each takes memory, so there should not be thousands.
    options.target_file_size_base = std::max<std::size_t>(options.write_buffer_size, 4U << 20U);
    options.target_file_size_multiplier = 4;
    options.max_background_jobs = 2;
    options.max_bgerror_resume_count = 0;  // report a full disk instead of waiting
    options.avoid_flush_during_shutdown = true;
    options.info_log_level = rocksdb::ERROR_LEVEL;
    options.keep_log_file_num = 1;
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits));
    table.optimize_filters_for_memory = true;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    table.format_version = 5;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

class RocksRows : public ColdRows {
  public:
    RocksRows(const SpillOptions& options, std::size_t row_bytes)
        : folder_(options.folder),
          row_bytes_(row_bytes),
          cache_(rocksdb::NewLRUCache(std::max<std::size_t>(options.memory_bytes / 64, 64U << 10U))) {
        writing_.disableWAL = true;
        rocksdb::DB* database = nullptr;
        const auto status = rocksdb::DB::Open(database_options(options.memory_bytes, cache_),
                                              folder_.path().string(), &database);
        database_.reset(database);
        if (!status.ok())
            throw UsageError(
                fmt::format("rows of sparse tables cannot be put on disk in {}: {}; name another folder",
                            options.folder.string(), status.ToString()));
    }

    std::uint64_t size() const override { return size_; }

    std::size_t bytes() const override {
        std::uint64_t bytes = cache_->GetUsage();
        for (const auto& what :
             {rocksdb::DB::Properties::kSizeAllMemTables, rocksdb::DB::Properties::kEstimateTableReadersMem})
            if (std::uint64_t value = 0; database_->GetIntProperty(what, &value)) bytes += value;
        return bytes;
    }

    void put(std::span<const ColdRow> rows) override {
        rocksdb::WriteBatch batch;
        for (const auto& row : rows) add(batch, row);
        write(batch);
        size_ += rows.size();
    }

    void replace(std::span<const ColdRow> rows) override {
        rocksdb::WriteBatch batch;
        for (const auto& row : rows) {
            batch.SingleDelete(slice(key_of(RowArena::id_of(row.bytes.data()))));
            add(batch, row);
        }
        write(batch);
    }

    void read(std::span<const std::int64_t> ids,
              const std::function<void(const ColdRow&)>& function) const override;

    void erase(std::span<const std::int64_t> ids) override {
        // Each key is put exactly once before it is deleted, so SingleDelete is allowed.
        rocksdb::WriteBatch batch;
        for (const auto id : ids) batch.SingleDelete(slice(key_of(id)));
        write(batch);
        size_ -= ids.size();
    }

    std::unique_ptr<Cursor> cursor() const override;

    void check(const rocksdb::Status& status, const char* what) const {
        if (!status.ok())
            throw Error(fmt::format("rows of a sparse table cannot be {} disk in {}: {}", what,
                                    folder_.path().string(), status.ToString()));
    }

    void check_value(const RowBuffer& buffer, const rocksdb::Slice& key, const rocksdb::Slice& value) const {
        if (!buffer.fits(key, value))
            check(rocksdb::Status::Corruption("a row has another size"), "read from");
    }

  private:
    static void add(rocksdb::WriteBatch& batch, const ColdRow& row) {
        const auto bytes = key_of(RowArena::id_of(row.bytes.data()));
        const auto key = slice(bytes);
        const std::array<rocksdb::Slice, 2> value{slice(std::as_bytes(std::span(&row.stamp, 1))),
                                                  slice(row.bytes.subspan(id_bytes))};
        batch.Put(rocksdb::SliceParts(&key, 1), rocksdb::SliceParts(value.data(), 2));
    }

    void write(rocksdb::WriteBatch& batch) {
        if (batch.Count() > 0) check(database_->Write(writing_, &batch), "written to");
    }

    SpillFolder folder_;  // destroyed after the database is closed
    std::size_t row_bytes_;
    std::shared_ptr<rocksdb::Cache> cache_;
    std::unique_ptr<rocksdb::DB> database_;
    rocksdb::WriteOptions writing_;
    std::uint64_t size_ = 0;
};

class RocksCursor : public ColdRows::Cursor {
  public:
    RocksCursor(const RocksRows& rows, std::size_t row_bytes, std::unique_ptr<rocksdb::Iterator> iterator)
        : rows_(rows), buffer_(row_bytes), iterator_(std::move(iterator)) {
        iterator_->SeekToFirst();
    }

    const ColdRow* next() override {
        if (!iterator_->Valid()) {
            rows_.check(iterator_->status(), "read from");
            return nullptr;
        }
        rows_.check_value(buffer_, iterator_->key(), iterator_->value());
        const auto* row = &buffer_.set(iterator_->key(), iterator_->value());
        iterator_->Next();
        return row;
    }

  private:
    const RocksRows& rows_;
    RowBuffer buffer_;
    std::unique_ptr<rocksdb::Iterator> iterator_;
};

void RocksRows::read(std::span<const std::int64_t> ids,
                     const std::function<void(const ColdRow&)>& function) const {
    constexpr std::size_t max = 256;
    std::vector<Key> keys(std::min(max, ids.size()));
    std::vector<rocksdb::Slice> slices(keys.size());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> found(keys.size());
    RowBuffer buffer(row_bytes_);
    for (std::size_t at = 0; at < ids.size(); at += max) {
        const auto n = std::min(max, ids.size() - at);
        for (std::size_t i = 0; i < n; ++i) {
            keys[i] = key_of(ids[at + i]);
            slices[i] = slice(keys[i]);
            values[i].Reset();
        }
        database_->MultiGet({}, database_->DefaultColumnFamily(), n, slices.data(), values.data(),
                            found.data(), true);
        for (std::size_t i = 0; i < n; ++i) {
            if (found[i].IsNotFound()) continue;
            check(found[i], "read from");
            check_value(buffer, slices[i], values[i]);
            function(buffer.set(slices[i], values[i]));
        }
    }
}

std::unique_ptr<ColdRows::Cursor> RocksRows::cursor() const {
    rocksdb::ReadOptions once;
    once.fill_cache = false;
    return std::make_unique<RocksCursor>(*this, row_bytes_,
                                         std::unique_ptr<rocksdb::Iterator>(database_->NewIterator(once)));
}

}  // namespace

std::unique_ptr<ColdRows> open_cold_rows(const SpillOptions& options, std::size_t row_bytes) {
    return std::make_unique<RocksRows>(options, row_bytes);
}

}  // namespace dtrain::ps
