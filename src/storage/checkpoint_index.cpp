// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/checkpoint_index.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <system_error>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/regular_file.hpp"
#include "storage/index_block.hpp"
#include "storage/index_json.hpp"

namespace dtrain::storage {
namespace {

constexpr std::string_view magic = "dtrain checkpoint 2";
constexpr std::string_view magic_of_a_file = "dtrain checkpoint 3";
constexpr std::size_t max_index_line = 128;
constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

[[noreturn]] void refuse_damaged(const std::filesystem::path& path) {
    throw UsageError(path.string() +
                     ": the checkpoint is damaged (its checksum differs); resume from another one");
}

/// Writes everything that HDF5 tools see of a checkpoint besides its tensors.
void write_header(Hdf5File& file, std::string_view format, const CheckpointHeader& header) {
    file.write_text("/", "format", std::string(format));
    file.write_integer("/", "epoch", header.epoch);
    file.write_integer("/", "step", header.step);
    file.write_integer("/", "epoch_step", header.epoch_step);
    file.write_text("/", "seed", std::to_string(header.seed));
    for (const char* group : {"/job", "/optimizer", "/parameters"}) file.make_group(group);
    for (const auto& [field, value] : header.job) file.write_text("/job", field, value);
}

void write_hdf5(const std::filesystem::path& path, const CheckpointIndex& index, std::size_t user_block) {
    auto file = Hdf5File::create(
        path, {.user_block = static_cast<std::int64_t>(user_block), .virtual_datasets = true});
    write_header(file, magic, index.header);
    std::vector<std::vector<Hdf5Part>> parts(index.tensors.size());
    for (std::size_t shard = 0; shard < index.shards.size(); ++shard)
        for (const auto& info : index.shards[shard].pieces)
            parts[info.piece.tensor].push_back({shard_name(shard), info.piece.first_row, info.piece.rows});
    for (std::size_t i = 0; i < index.tensors.size(); ++i) {
        const auto& tensor = index.tensors[i];
        if (parts[i].empty())
            file.allocate(tensor.name, tensor.shape, tensor.element);
        else
            file.write_virtual(tensor.name, tensor.shape, tensor.element, parts[i]);
    }
    file.close();
}

/// Whether all ranges are inside the files and tensors and every row occurs once, so that a reader can rely
/// on them.
bool is_sound(const CheckpointIndex& index) {
    std::vector<std::int64_t> rows(index.tensors.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto bytes = static_cast<std::int64_t>(size_of(index.tensors[i].element));
        for (const auto extent : index.tensors[i].shape)
            if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return false;
        rows[i] = bytes == 0 ? 0 : index.tensors[i].rows();
    }
    std::vector<std::int64_t> found(rows.size());
    for (const auto& shard : index.shards) {
        if (shard.bytes < 0) return false;
        auto left = shard.bytes;  // bytes must not belong to two values
        for (const auto& [piece, offset, sum] : shard.pieces) {
            if (piece.tensor >= rows.size() || piece.rows < 1 || piece.first_row != found[piece.tensor] ||
                piece.rows > rows[piece.tensor] - found[piece.tensor] || offset < 0 ||
                piece.rows * index.tensors[piece.tensor].row_bytes() > shard.bytes - offset)
                return false;
            left -= piece.rows * index.tensors[piece.tensor].row_bytes();
            if (left < 0) return false;
            found[piece.tensor] += piece.rows;
        }
    }
    return found == rows;
}

/// A ShardInfo whose JSON is at least as long as that of any other for these pieces.
ShardInfo max_info(std::span<const Piece> pieces) {
    constexpr auto max = std::numeric_limits<std::int64_t>::max();
    ShardInfo info{max, max, 0, {}};
    for (const auto& piece : pieces) info.pieces.push_back({piece, max, 0});
    return info;
}

}  // namespace

void write_index(const std::filesystem::path& path, const CheckpointIndex& index) {
    const auto json = as_json(index).dump();
    const auto user_block = index_block_bytes(magic, json.size());
    try {
        check_space(path, static_cast<std::int64_t>(user_block),
                    index.tensors.size() + index.header.job.size());
        write_hdf5(path, index, user_block);
        auto content = read_file(path);
        if (!content || content->size() < user_block)
            throw std::system_error(errno, std::generic_category(), path.string());
        put_index_block(*content, magic, json, user_block);
        const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!file.valid() || !write_all(file.get(), std::string_view(*content).substr(0, user_block)) ||
            ::fsync(file.get()) != 0)
            throw std::system_error(errno, std::generic_category(), path.string());
    } catch (const std::system_error& error) {
        throw Error("cannot write " + path.string() + ": " + error.code().message());
    }
}

CheckpointIndex read_index(const std::filesystem::path& path) {
    const auto content = read_regular_file(path);
    const auto user_block = index_block_in(content, magic);
    if (!user_block) throw UsageError(path.string() + ": this is no index of a checkpoint");
    const auto json = json_of_index_block(content, magic);
    if (!json || !std::string_view(content).substr(*user_block).starts_with(hdf5_signature))
        refuse_damaged(path);
    auto index = index_from_json(*json);
    if (!index || !is_sound(*index))
        throw UsageError(path.string() + ": this index of a checkpoint makes no sense");
    return *index;
}

WriteExtent FileLayout::extent_of(const Piece& piece, std::span<const TensorInfo> tensors,
                                  const std::byte* values) const {
    const auto row_bytes = tensors[piece.tensor].row_bytes();
    return {values, static_cast<std::size_t>(piece.rows * row_bytes),
            offsets[piece.tensor] + piece.first_row * row_bytes};
}

FileLayout begin_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                                 std::span<const TensorInfo> tensors, std::span<const Piece> pieces) {
    CheckpointIndex max{header, {tensors.begin(), tensors.end()}, {max_info(pieces)}};
    FileLayout layout;
    // HDF5 requires a multiple of the alignment; both are powers of two.
    layout.index_bytes = static_cast<std::int64_t>(
        std::max(direct_alignment, index_block_bytes(magic_of_a_file, as_json(max).dump().size())));
    std::int64_t bytes = layout.index_bytes;
    for (const auto& tensor : tensors) bytes += tensor.bytes();
    check_space(path, bytes, tensors.size() + header.job.size());
    auto file = Hdf5File::create(path, {.alignment = direct_alignment, .user_block = layout.index_bytes});
    write_header(file, magic_of_a_file, header);
    for (const auto& tensor : tensors)
        layout.offsets.push_back(file.allocate(tensor.name, tensor.shape, tensor.element));
    file.close();
    layout.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    const FileDescriptor made(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (made.valid()) reserve_space(made.get(), layout.bytes);
    return layout;
}

void finish_checkpoint_file(const std::filesystem::path& path, const FileLayout& layout,
                            const CheckpointIndex& index) {
    auto complete = index;
    auto& info = complete.shards.at(0);
    info.begin = layout.index_bytes;
    info.bytes = layout.bytes;
    info.frame = frame_sum(path, complete.tensors, info);
    std::string block(static_cast<std::size_t>(layout.index_bytes), '\0');
    put_index_block(block, magic_of_a_file, as_json(complete).dump(), block.size());
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid() || !write_all(file.get(), block) || ::fsync(file.get()) != 0)
        throw std::system_error(errno, std::generic_category(), path.string());
}

std::optional<CheckpointIndex> read_index_of_file(const std::filesystem::path& path) {
    const auto file = open_regular_file(path);
    const auto beginning = [&](std::size_t bytes) {
        std::string content(bytes, '\0');
        content.resize(read_at(file.get(), content.data(), bytes, 0).value_or(0));
        return content;
    };
    const auto line = beginning(max_index_line);
    const auto bytes = index_block_in(line, magic_of_a_file);
    if (!bytes) return std::nullopt;
    if (*bytes < line.size() || *bytes > size_or_zero(path)) refuse_damaged(path);
    const auto content = beginning(*bytes);
    const auto json = json_of_index_block(content, magic_of_a_file);
    if (!json) refuse_damaged(path);
    auto index = index_from_json(*json);
    if (!index || !is_sound(*index) || index->shards.size() != 1)
        throw UsageError(path.string() + ": this index of a checkpoint makes no sense");
    return index;
}

}  // namespace dtrain::storage
