// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/table_saver.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::ps {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
    throw Error("cannot write " + path.string() + ": " + why);
}

std::size_t largest_block(const TableLayout& layout) {
    std::size_t bytes = storage::direct_alignment;
    for (const auto& block : layout.blocks) bytes = std::max(bytes, block.range.bytes);
    return bytes;
}

std::size_t first_row_block(const TableLayout& layout) {
    const auto first = std::ranges::find(layout.blocks, BlockContent::rows, &StoredBlock::content);
    return static_cast<std::size_t>(first - layout.blocks.begin());
}

}  // namespace

TableSaver::TableSaver(SparseTable& table, const ServerShard& shard, std::optional<TableFile> saved,
                       const SaveMemory& memory)
    : table_(table), shard_(shard), memory_(memory), saved_(std::move(saved)) {}

TableSaver::~TableSaver() {
    abandon();
}

void TableSaver::begin(const SaveRequest& request) {
    if (request.which == WhichRows::changed && !knows_changes())
        throw Error("table '" + table_.options().name +
                    "': there is no save that changes could be told from: save all rows first");
    if (save_ || table_.changes().is_in_progress())
        throw Error("table '" + table_.options().name + "' is being saved already");
    save_.emplace();
    try {
        auto& save = *save_;
        const auto rows = table_.begin_snapshot(request.which, *this);
        save.path = request.folder / table_file_name(table_.options().name, shard_);
        const auto touches = std::as_const(table_).touch_counters();
        save.touches.assign(touches.begin(), touches.end());
        save.header = {.options = table_.options(),
                       .shard = shard_,
                       .which = request.which,
                       .checkpoint = request.checkpoint,
                       .step = request.step,
                       .day = table_.day(),
                       .counts = table_.counts(),
                       .row_bytes = table_.row_bytes(),
                       .rows = rows,
                       .touch_counters = touches.size(),
                       .block_bytes = memory_.block_bytes};
        if (request.which == WhichRows::changed) {
            save.header.base = saved_->sum;
            save.header.erased = table_.changes().erased().size();
        }
        save.layout = layout_of(save.header);
        save.row_block = first_row_block(save.layout);
        save.written.reserve(save.layout.blocks.size());
        make_file();
        save.writer.emplace(save.path, largest_block(save.layout),
                            std::max<std::size_t>(memory_.max_blocks, 1));
    } catch (...) {
        abandon();
        throw;
    }
}

void TableSaver::make_file() const {
    const auto& path = save_->path;
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file.valid()) fail(path, std::strerror(errno));
    try {
        storage::reserve_space(file.get(), save_->layout.bytes);
    } catch (const std::system_error& error) {
        fail(path, error.code().message());
    }
    if (::ftruncate(file.get(), save_->layout.bytes) != 0) fail(path, std::strerror(errno));
}

void TableSaver::write_block(std::size_t block, std::byte* buffer) {
    const auto& [content, first, items, item_bytes, range] = save_->layout.blocks[block];
    const auto used = items * item_bytes;
    std::memset(buffer + used, 0, range.bytes - used);
    save_->written.push_back(block);
    save_->writer->write(buffer, range.bytes, range.offset);
}

void TableSaver::take(std::span<const std::byte> rows) noexcept {
    auto& save = *save_;
    try {
        while (!rows.empty() && !save.is_out_of_memory) {
            const auto& block = save.layout.blocks[save.row_block];
            if (save.buffer == nullptr) save.buffer = save.writer->buffer();
            const auto room = (block.items - save.rows_in_block) * block.item_bytes;
            const auto taken = std::min(room, rows.size());
            std::memcpy(save.buffer + save.rows_in_block * block.item_bytes, rows.data(), taken);
            rows = rows.subspan(taken);
            save.rows_in_block += taken / block.item_bytes;
            if (save.rows_in_block < block.items) continue;
            write_block(save.row_block, std::exchange(save.buffer, nullptr));
            ++save.row_block;
            save.rows_in_block = 0;
        }
    } catch (const std::bad_alloc&) {
        save.is_out_of_memory = true;
    }
}

void TableSaver::fill(const StoredBlock& block, std::byte* buffer) const {
    if (block.content == BlockContent::erased)
        std::memcpy(buffer, table_.changes().erased().data() + block.first, block.items * block.item_bytes);
    else
        std::memcpy(buffer, save_->touches.data() + block.first, block.items);
}

TableSaver::Progress TableSaver::step(std::size_t bytes) {
    return step(bytes, false);
}

TableSaver::Progress TableSaver::step(std::size_t bytes, bool may_wait) {
    auto& save = save_.value();
    if (save.file.valid() || save.info) return Progress::taken;
    const auto next_buffer = [&] {
        return may_wait ? save.writer->buffer() : save.writer->buffer_at_once(memory_.blocks);
    };
    try {
        const auto& blocks = save.layout.blocks;
        if (save.next_block < blocks.size() && blocks[save.next_block].content != BlockContent::rows) {
            auto* const buffer = next_buffer();
            if (buffer == nullptr) return Progress::waiting_for_disk;
            fill(blocks[save.next_block], buffer);
            write_block(save.next_block++, buffer);
            return Progress::working;
        }
        if (save.row_block < blocks.size() && save.buffer == nullptr) {
            save.buffer = next_buffer();
            if (save.buffer == nullptr) return Progress::waiting_for_disk;
        }
    } catch (const std::bad_alloc&) {
        save.is_out_of_memory = true;
    }
    const auto left = save.row_block < save.layout.blocks.size()
                          ? save.layout.blocks[save.row_block].items - save.rows_in_block
                          : 1;
    const auto rows = std::clamp<std::size_t>(bytes / save.header.row_bytes, 1, left);
    if (table_.go_on_with_snapshot(rows) && !save.is_out_of_memory) return Progress::working;
    save.touches = {};
    save.file = Background<TableFile>::in_thread([&save] { return complete(save); });
    return Progress::taken;
}

TableFile TableSaver::complete(SaveInProgress& save) {
    if (save.is_out_of_memory) fail(save.path, "there is no memory for it");
    try {
        const auto sums = save.writer->finish();
        save.writer.reset();
        save.header.sums.resize(sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) save.header.sums[save.written[i]] = sums[i];
        const auto block = header_block(save.header);
        const FileDescriptor file(::open(save.path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!file.valid() || !write_all(file.get(), block) || ::fsync(file.get()) != 0)
            throw std::system_error(errno, std::generic_category());
        return info_of(save.header, block);
    } catch (const std::system_error& error) {
        fail(save.path, error.code().message());
    }
}

bool TableSaver::is_written() const {
    return save_ && (save_->info || (save_->file.valid() && save_->file.is_ready()));
}

TableFile TableSaver::finish() {
    constexpr std::size_t much = std::size_t{64} << 20U;
    try {
        while (step(much, true) != Progress::taken) continue;
        if (!save_->info) save_->info = save_->file.get();
        return *save_->info;
    } catch (...) {
        abandon();
        throw;
    }
}

void TableSaver::commit() {
    if (!save_ || !save_->info)
        throw Error("table '" + table_.options().name + "': a save can be committed after finish()");
    saved_ = save_->info;
    save_.reset();
    table_.end_snapshot(true);
}

void TableSaver::abandon() {
    if (!save_) return;
    save_.reset();
    if (table_.changes().is_in_progress()) table_.end_snapshot(false);
}

}  // namespace dtrain::ps
