// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint_index.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "io/block_io.hpp"
#include "io/index_json.hpp"

namespace dtrain::io {
namespace {

constexpr std::string_view magic = "dtrain checkpoint 2";
constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t least_user_block = 512;

std::string first_line(std::size_t user_block, std::uint64_t sum) {
    return fmt::format("{} of {} bytes, xxh3 {:016x}\n", magic, user_block, sum);
}

std::uint64_t sum_after(std::string_view content, std::size_t line) {
    return xxh3(std::as_bytes(std::span(content.substr(line))));
}

void write_hdf5(const std::filesystem::path& path, const CheckpointIndex& index, std::size_t user_block) {
    auto file = Hdf5File::create(
        path, {.user_block = static_cast<std::int64_t>(user_block), .virtual_datasets = true});
    file.write_text("/", "format", std::string(magic));
    file.write_integer("/", "epoch", index.header.epoch);
    file.write_integer("/", "step", index.header.step);
    file.write_integer("/", "epoch_step", index.header.epoch_step);
    file.write_text("/", "seed", std::to_string(index.header.seed));
    for (const char* group : {"/job", "/optimizer", "/parameters"}) file.make_group(group);
    for (const auto& [field, value] : index.header.job) file.write_text("/job", field, value);
    std::vector<std::vector<Hdf5Part>> parts(index.tensors.size());
    for (std::size_t shard = 0; shard < index.shards.size(); ++shard)
        for (const auto& facts : index.shards[shard].pieces)
            parts[facts.piece.tensor].push_back({shard_name(shard), facts.piece.first_row, facts.piece.rows});
    for (std::size_t i = 0; i < index.tensors.size(); ++i) {
        const auto& tensor = index.tensors[i];
        if (parts[i].empty())
            file.allocate(tensor.name, tensor.shape, tensor.element);
        else
            file.write_virtual(tensor.name, tensor.shape, tensor.element, parts[i]);
    }
    file.close();
}

/// Nothing outside of the files and tensors, every row once, so that a reader can follow it blindly.
bool is_sound(const CheckpointIndex& index) {
    std::vector<std::int64_t> rows(index.tensors.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::int64_t bytes = size_of(index.tensors[i].element);
        for (const auto extent : index.tensors[i].shape)
            if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return false;
        rows[i] = bytes == 0 ? 0 : index.tensors[i].rows();
    }
    std::vector<std::int64_t> found(rows.size());
    for (const auto& shard : index.shards)
        for (const auto& [piece, offset, sum] : shard.pieces) {
            if (piece.tensor >= rows.size() || piece.rows < 1 || piece.first_row != found[piece.tensor] ||
                piece.rows > rows[piece.tensor] - found[piece.tensor] || offset < 0 ||
                piece.rows * index.tensors[piece.tensor].row_bytes() > shard.bytes - offset)
                return false;
            found[piece.tensor] += piece.rows;
        }
    return found == rows;
}

}  // namespace

void write_index(const std::filesystem::path& path, const CheckpointIndex& index) {
    const auto json = as_json(index).dump();
    // The line has the same length for every sum, and for every size of the same number of digits.
    const auto line = first_line(std::bit_ceil(json.size()), 0).size();
    const auto user_block = std::bit_ceil(std::max(least_user_block, json.size() + line + 16));
    try {
        check_space(path, static_cast<std::int64_t>(user_block),
                    index.tensors.size() + index.header.job.size());
        write_hdf5(path, index, user_block);
        auto content = read_file(path);
        if (!content || content->size() < user_block)
            throw std::system_error(errno, std::generic_category(), path.string());
        auto head = first_line(user_block, 0);
        content->replace(0, head.size() + json.size(), head + json);
        const auto begin = head.size();
        head = first_line(user_block, sum_after(*content, begin));
        content->replace(0, begin, head);
        const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!file.valid() || !write_all(file.get(), std::string_view(*content).substr(0, user_block)) ||
            ::fsync(file.get()) != 0)
            throw std::system_error(errno, std::generic_category(), path.string());
    } catch (const std::system_error& error) {
        throw Error("cannot write " + path.string() + ": " + error.code().message());
    }
}

CheckpointIndex read_index(const std::filesystem::path& path) {
    errno = 0;
    const auto content = std::filesystem::is_directory(path) ? std::nullopt : read_file(path);
    if (!content) throw UsageError("cannot read " + path.string() + ": " + std::strerror(errno));
    const std::string_view text = *content;
    if (!text.starts_with(magic)) throw UsageError(path.string() + ": this is no index of a checkpoint");
    const auto line = text.substr(0, text.find('\n') + 1);
    const auto words = split(line, ' ');
    const auto user_block = words.size() > 4 ? parse_int<std::size_t>(words[4]).value_or(0) : 0;
    const bool in_order = !line.empty() && user_block < text.size() &&
                          text.substr(user_block).starts_with(hdf5_signature) &&
                          line == first_line(user_block, sum_after(text, line.size()));
    if (!in_order)
        throw UsageError(path.string() +
                         ": the checkpoint is damaged (its checksum differs); resume from another one");
    const auto json = text.substr(line.size(), user_block - line.size());
    auto index = index_from_json(json.substr(0, json.find('\0')));
    if (!index || !is_sound(*index))
        throw UsageError(path.string() + ": this index of a checkpoint makes no sense");
    return *index;
}

}  // namespace dtrain::io
