// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/shard_file.hpp"

#include <algorithm>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "storage/block_io.hpp"

namespace dtrain::storage {
namespace {

constexpr std::int64_t max_frame = std::int64_t{1} << 30;

std::size_t bytes_of(const Piece& piece, std::span<const TensorInfo> tensors) {
    return static_cast<std::size_t>(piece.rows * tensors[piece.tensor].row_bytes());
}

[[noreturn]] void refuse_damaged(const std::filesystem::path& path, const std::string& what) {
    throw UsageError(path.string() + ": the checkpoint is damaged (" + what + "); resume from another one");
}

[[noreturn]] void refuse_unreadable(const std::filesystem::path& path, const std::system_error& error) {
    throw UsageError(path.string() + ": the checkpoint cannot be read: " + error.code().message());
}

}  // namespace

std::string shard_name(std::size_t shard) {
    return fmt::format("shard-{:04}.h5", shard);
}

std::uint64_t frame_sum(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                        const ShardInfo& info) {
    auto pieces = info.pieces;
    std::ranges::sort(pieces, {}, &PieceInfo::offset);
    std::vector<std::byte> frame;
    std::int64_t at = info.begin;
    const auto read_until = [&](std::int64_t end) {
        if (end < at || end - at > max_frame)
            throw std::system_error(EIO, std::generic_category(), path.string());
        const auto before = frame.size();
        frame.resize(before + static_cast<std::size_t>(end - at));
        const ReadExtent gap{frame.data() + before, frame.size() - before, at};
        read_extents(path, {&gap, 1});
    };
    for (const auto& piece : pieces) {
        read_until(piece.offset);
        at = piece.offset + static_cast<std::int64_t>(bytes_of(piece.piece, tensors));
    }
    read_until(info.bytes);
    return xxh3(frame);
}

ShardInfo write_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                      std::span<const PieceSource> pieces) {
    try {
        ShardInfo info;
        std::vector<WriteExtent> extents;
        std::int64_t bytes = 0;
        for (const auto& [piece, data] : pieces) bytes += static_cast<std::int64_t>(bytes_of(piece, tensors));
        check_space(path, bytes, pieces.size());
        auto file = Hdf5File::create(path, {.alignment = direct_alignment});
        for (const auto& [piece, data] : pieces) {
            const auto& tensor = tensors[piece.tensor];
            auto shape = tensor.shape;
            if (!shape.empty()) shape.front() = piece.rows;
            const auto offset = file.allocate(tensor.name, shape, tensor.element);
            extents.push_back({data, bytes_of(piece, tensors), offset});
        }
        file.close();
        info.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
        const FileDescriptor synced(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        reserve_space(synced.get(), info.bytes);
        const auto sums = write_extents(path, extents);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            info.pieces.push_back({pieces[i].piece, extents[i].offset, sums[i]});
        info.frame = frame_sum(path, tensors, info);
        if (::fsync(synced.get()) != 0)
            throw std::system_error(errno, std::generic_category(), "cannot sync");
        return info;
    } catch (const std::system_error& error) {
        throw Error("cannot write " + path.string() + ": " + error.code().message());
    }
}

void check_size(const std::filesystem::path& path, const ShardInfo& info) {
    try {
        const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
        if (bytes != info.bytes)
            refuse_damaged(path, fmt::format("{} bytes instead of {}", bytes, info.bytes));
    } catch (const std::system_error& error) {
        refuse_unreadable(path, error);
    }
}

void read_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors, const ShardInfo& info,
                std::span<std::byte* const> targets) {
    check_size(path, info);
    try {
        std::vector<ReadExtent> extents;
        for (std::size_t i = 0; i < info.pieces.size(); ++i)
            extents.push_back({targets[i], bytes_of(info.pieces[i].piece, tensors), info.pieces[i].offset});
        const auto sums = read_extents(path, extents);
        for (std::size_t i = 0; i < sums.size(); ++i)
            if (sums[i] != info.pieces[i].sum)
                refuse_damaged(path,
                               "the checksum of " + tensors[info.pieces[i].piece.tensor].name + " differs");
        if (frame_sum(path, tensors, info) != info.frame)
            refuse_damaged(path, "the checksum of its HDF5 structures differs");
    } catch (const std::system_error& error) {
        refuse_unreadable(path, error);
    }
}

}  // namespace dtrain::storage
