// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/click_cache_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <xxhash.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/regular_file.hpp"
#include "data/read_clicks.hpp"
#include "storage/hash.hpp"

namespace dtrain::data {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are written as they lie in memory");

constexpr std::string_view cache_magic = "dtrain click cache 1\n";
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t sum_bytes = sizeof(std::uint64_t);
constexpr std::int64_t usual_block = 64 << 10;

using Head = std::array<char, head_bytes>;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", what, path.string()));
}

/// The number of bytes read: fewer than requested at the end of the file.
std::size_t read_at(const FileDescriptor& file, const std::filesystem::path& path, void* data,
                    std::size_t bytes, std::int64_t offset) {
    const auto done = dtrain::read_at(file.get(), data, bytes, offset);
    if (!done) fail(path, "read");
    return *done;
}

FileDescriptor opened(const std::filesystem::path& path) {
    try {
        return open_regular_file(path);
    } catch (const UnreadableFile& error) {
        throw UsageError(fmt::format("[data] cache: cannot open {}: {}", path.string(), error.reason()));
    }
}

std::uint64_t sum_of(const void* data, std::size_t bytes, std::int64_t block) {
    return XXH3_64bits_withSeed(data, bytes, static_cast<std::uint64_t>(block));
}

std::uint64_t sum_of(const Head& head) {
    return XXH3_64bits(head.data(), head.size() - sum_bytes);
}

Head head_of(const ClickCacheInfo& info) {
    const nlohmann::json json{{"log_bytes", info.log.bytes},
                              {"log_modified_ns", info.log.modified_ns},
                              {"layout", info.log.layout},
                              {"integers", info.integers},
                              {"slots", info.slots},
                              {"samples", info.samples},
                              {"fingerprint", info.fingerprint}};
    Head head{};
    std::ranges::copy(fmt::format("{}{}\n", cache_magic, json.dump()), head.begin());
    const auto sum = sum_of(head);
    std::memcpy(head.data() + head.size() - sum_bytes, &sum, sum_bytes);
    return head;
}

/// Nothing if it is damaged.
std::optional<ClickCacheInfo> info_in(const Head& head) {
    std::uint64_t sum = 0;
    std::memcpy(&sum, head.data() + head.size() - sum_bytes, sum_bytes);
    if (sum != sum_of(head)) return std::nullopt;
    auto text = std::string_view(head.data(), head.size() - sum_bytes).substr(cache_magic.size());
    text = text.substr(0, text.find('\0'));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    try {
        ClickCacheInfo info{.log = {.bytes = json.at("log_bytes"),
                                    .modified_ns = json.at("log_modified_ns"),
                                    .layout = json.at("layout")},
                            .integers = json.at("integers"),
                            .slots = json.at("slots"),
                            .samples = json.at("samples"),
                            .fingerprint = json.at("fingerprint")};
        if (column_count_error(info.integers, info.slots) || info.samples < 0) return std::nullopt;
        return info;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

std::int64_t offset_of(std::int64_t block, std::int64_t samples_of_a_block, std::int64_t row_bytes) {
    return static_cast<std::int64_t>(head_bytes) +
           block * (samples_of_a_block * row_bytes + static_cast<std::int64_t>(sum_bytes));
}

}  // namespace

std::int64_t block_samples(std::int64_t integers, std::int64_t slots) {
    return std::max<std::int64_t>(1, usual_block / click_row_bytes(integers, slots) / 2) * 2;
}

std::span<const std::int64_t> ClickBlock::ids() const {
    return {reinterpret_cast<const std::int64_t*>(memory_.data()), static_cast<std::size_t>(size_ * slots_)};
}

std::span<const float> ClickBlock::dense() const {
    const auto ids = this->ids();
    return {reinterpret_cast<const float*>(ids.data() + ids.size()),
            static_cast<std::size_t>(size_ * integers_)};
}

std::span<const float> ClickBlock::labels() const {
    const auto dense = this->dense();
    return {dense.data() + dense.size(), static_cast<std::size_t>(size_)};
}

ClickCacheFile::ClickCacheFile(std::filesystem::path path) : path_(std::move(path)), file_(opened(path_)) {
    Head head{};
    const auto bytes_read = read_at(file_, path_, head.data(), head.size(), 0);
    if (!std::string_view(head.data(), bytes_read).starts_with(cache_magic))
        throw DamagedCache(path_, "this is no cache of a click log, or one of another version of dtrain");
    const auto info = bytes_read == head.size() ? info_in(head) : std::nullopt;
    if (!info) throw DamagedCache(path_, "its beginning is cut off or damaged");
    info_ = *info;
    block_samples_ = block_samples(info_.integers, info_.slots);
    const auto found = static_cast<std::int64_t>(std::filesystem::file_size(path_));
    constexpr auto max_file =
        std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(head_bytes);
    const auto row_bytes =
        click_row_bytes(info_.integers, info_.slots) + static_cast<std::int64_t>(sum_bytes);
    if (info_.samples > max_file / row_bytes)
        throw DamagedCache(path_,
                           fmt::format("it has {} bytes, which are not {} samples", found, info_.samples));
    if (found != bytes())
        throw DamagedCache(path_, fmt::format("it has {} bytes instead of {}", found, bytes()));
}

std::int64_t ClickCacheFile::blocks() const {
    return (info_.samples + block_samples_ - 1) / block_samples_;
}

std::int64_t ClickCacheFile::bytes() const {
    return static_cast<std::int64_t>(head_bytes) +
           info_.samples * click_row_bytes(info_.integers, info_.slots) +
           blocks() * static_cast<std::int64_t>(sum_bytes);
}

void ClickCacheFile::read(std::int64_t block, ClickBlock& into) const {
    into.integers_ = info_.integers;
    into.slots_ = info_.slots;
    into.first_ = block * block_samples_;
    into.size_ = std::min(block_samples_, info_.samples - into.first_);
    const auto row_bytes = click_row_bytes(info_.integers, info_.slots);
    const auto bytes = static_cast<std::size_t>(into.size_ * row_bytes);
    into.memory_.resize(bytes + sum_bytes);
    auto* const data = into.memory_.data();
    const auto bytes_read =
        read_at(file_, path_, data, bytes + sum_bytes, offset_of(block, block_samples_, row_bytes));
    std::uint64_t sum = 0;
    std::memcpy(&sum, data + bytes, sum_bytes);
    if (bytes_read != bytes + sum_bytes || sum != sum_of(data, bytes, block))
        throw DamagedCache(
            path_, fmt::format("samples {} to {} are damaged", into.first_ + 1, into.first_ + into.size_));
}

ClickCacheWriter::ClickCacheWriter(std::filesystem::path path, std::int64_t integers, std::int64_t slots)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)),
      info_{.integers = integers, .slots = slots},
      block_samples_(block_samples(integers, slots)) {
    if (!file_.valid() || ::lseek(file_.get(), head_bytes, SEEK_SET) < 0) fail(path_, "write");
}

void ClickCacheWriter::write(const ClickLog& block) {
    bytes_.clear();
    const auto append = [&](std::span<const std::byte> values) {
        bytes_.insert(bytes_.end(), values.begin(), values.end());
    };
    append(std::as_bytes(std::span(block.ids)));
    append(std::as_bytes(std::span(block.dense)));
    append(std::as_bytes(std::span(block.labels)));
    const auto sum = sum_of(bytes_.data(), bytes_.size(), info_.samples / block_samples_);
    append(std::as_bytes(std::span(&sum, 1)));
    const std::string_view bytes(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (!write_all(file_.get(), bytes)) fail(path_, "write");
    info_.samples += block.size();
}

ClickCacheInfo ClickCacheWriter::finish(const ClickLogMark& log) {
    info_.log = log;
    info_.fingerprint = fingerprint();
    const auto head = head_of(info_);
    if (::lseek(file_.get(), 0, SEEK_SET) < 0 ||
        !write_all(file_.get(), std::string_view(head.data(), head.size())))
        fail(path_, "write");
    return info_;
}

std::uint64_t ClickCacheWriter::fingerprint() const {
    const auto row_bytes = click_row_bytes(info_.integers, info_.slots);
    const auto float_bytes = static_cast<std::int64_t>(sizeof(float));
    const auto ids_bytes = row_bytes - (info_.integers + 1) * float_bytes;
    storage::Hash hash;
    hash.add(static_cast<std::uint64_t>(info_.integers));
    hash.add(static_cast<std::uint64_t>(info_.slots));
    std::vector<std::byte> values;
    // `begin` is the offset in a sample's bytes, as if each block held one sample.
    const auto add = [&](std::int64_t begin, std::int64_t bytes_of_sample) {
        hash.begin(static_cast<std::uint64_t>(info_.samples * bytes_of_sample));
        for (std::int64_t first = 0; first < info_.samples; first += block_samples_) {
            const auto count = std::min(block_samples_, info_.samples - first);
            values.resize(static_cast<std::size_t>(count * bytes_of_sample));
            const auto offset = offset_of(first / block_samples_, block_samples_, row_bytes) + count * begin;
            if (read_at(file_, path_, values.data(), values.size(), offset) != values.size())
                throw DamagedCache(path_, "somebody else has cut it off");
            hash.add_part(values);
        }
    };
    add(row_bytes - float_bytes, float_bytes);
    add(ids_bytes, info_.integers * float_bytes);
    add(0, ids_bytes);
    return hash.value();
}

}  // namespace dtrain::data
