// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/click_cache.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/random_id.hpp"
#include "base/unfinished_file.hpp"
#include "data/click_stream.hpp"
#include "storage/hash.hpp"

namespace dtrain::data {
namespace {

constexpr std::chrono::milliseconds poll_interval{50};
constexpr const char* unfinished_suffix = ".tmp";

void check_watch(const CacheWatch& watch) {
    if (watch.stops) throw Error("the cache of the click log is not needed any more");
}

void add(storage::Hash& hash, const ClickColumns& columns) {
    hash.add(static_cast<std::uint64_t>(columns.integers));
    hash.add(static_cast<std::uint64_t>(columns.slots));
}

void add(storage::Hash& hash, const std::optional<std::vector<std::string>>& words) {
    hash.add(words ? words->size() + 1 : std::uint64_t{0});
    if (words)
        for (const auto& word : *words) hash.add(word);
}

void add(storage::Hash& hash, const CsvClickColumns& columns) {
    hash.add(columns.label);
    add(hash, columns.numbers);
    add(hash, columns.categories);
    hash.add(static_cast<std::uint64_t>(static_cast<unsigned char>(columns.separator)));
    hash.add(columns.header ? std::uint64_t{1} + std::uint64_t{*columns.header} : std::uint64_t{0});
}

void add(storage::Hash& hash, const SvmlightClickColumns& columns) {
    hash.add(static_cast<std::uint64_t>(columns.numbers));
    hash.add(static_cast<std::uint64_t>(columns.slots));
    hash.add(std::span<const std::int64_t>(columns.slot_ids));
    hash.add(static_cast<std::uint64_t>(columns.first_id));
}

ClickLogMark mark_of(const std::filesystem::path& log, const ClickLayout& layout) {
    struct stat info {};
    if (::stat(log.c_str(), &info) != 0)
        throw UsageError(fmt::format("cannot read {}: {}", log.string(), std::strerror(errno)));
    storage::Hash hash;
    hash.add(layout.index());
    std::visit([&](const auto& columns) { add(hash, columns); }, layout);
    return {.bytes = info.st_size,
            .modified_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
            .layout = hash.value()};
}

/// Sizes of a sample.
struct ClickSizes {
    std::int64_t integers = 0;
    std::int64_t slots = 0;
};

/// Nothing if the layout does not determine them.
std::optional<ClickSizes> sizes_of(const ClickLayout& layout) {
    struct Sizes {
        std::optional<ClickSizes> operator()(const ClickColumns& columns) const {
            return ClickSizes{columns.integers, columns.slots};
        }
        std::optional<ClickSizes> operator()(const CsvClickColumns& columns) const {
            if (!columns.numbers || !columns.categories) return std::nullopt;
            return ClickSizes{std::ssize(*columns.numbers), std::ssize(*columns.categories)};
        }
        std::optional<ClickSizes> operator()(const SvmlightClickColumns& columns) const {
            const auto slots = columns.slot_ids.empty() ? columns.slots : std::ssize(columns.slot_ids);
            return slots == 0 ? std::nullopt : std::optional(ClickSizes{columns.numbers, slots});
        }
    };
    return std::visit(Sizes{}, layout);
}

/// Checks that a cache with this layout's hash also has its number of columns.
void check_columns(const ClickCacheFile& cache, const ClickLayout& layout) {
    const auto& info = cache.info();
    if (const auto sizes = sizes_of(layout);
        sizes && (sizes->integers != info.integers || sizes->slots != info.slots))
        throw DamagedCache(cache.path(),
                           fmt::format("its samples have {} numbers and {} categories instead of {} and {}",
                                       info.integers, info.slots, sizes->integers, sizes->slots));
}

std::optional<std::string> change(const ClickLogMark& before, const ClickLogMark& now) {
    if (before.layout != now.layout) return "other columns of the log are read now";
    if (before.bytes != now.bytes || before.modified_ns != now.modified_ns) return "the log has changed";
    return std::nullopt;
}

/// Why an existing cache cannot be used; nothing if it can. @throws std::system_error
std::optional<CacheIssue> flaw_of(const std::filesystem::path& file, const ClickLogMark& log,
                                  const ClickLayout& layout, CacheWatch& watch) {
    try {
        const ClickCacheFile cache(file);
        if (const auto what = change(cache.info().log, log)) return CacheIssue{*what};
        check_columns(cache, layout);
        watch.all = cache.bytes();
        ClickBlock block;
        for (std::int64_t i = 0; i < cache.blocks(); ++i) {
            check_watch(watch);
            cache.read(i, block);
            watch.done = cache.bytes() / cache.blocks() * i;
        }
    } catch (const DamagedCache& damaged) {
        return CacheIssue{damaged.what(), true};
    }
    return std::nullopt;
}

/// Ensures that only one process creates the cache.
class CacheLock {
  public:
    CacheLock(const std::filesystem::path& file, const CacheWatch& watch)
        : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)) {
        while (file_.valid() && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) {
                file_.reset();
                return;
            }
            check_watch(watch);
            others_were_first_ = true;
            std::this_thread::sleep_for(poll_interval);
        }
    }

    /// False if the file system does not support locks.
    bool is_locked() const { return file_.valid(); }
    bool others_were_first() const { return others_were_first_; }

  private:
    FileDescriptor file_;
    bool others_were_first_ = false;
};

/// Removes files left behind by killed processes.
void remove_unfinished(const std::filesystem::path& of) {
    std::error_code ignored;
    for (const auto& path : paths_in(of.parent_path())) {
        const auto name = path.filename().string();
        if (name.starts_with(of.filename().string() + ".") && name.ends_with(unfinished_suffix))
            std::filesystem::remove(path, ignored);
    }
}

void clear(ClickLog& log) {
    log.labels.clear();
    log.dense.clear();
    log.ids.clear();
}

void make(const std::filesystem::path& log, const ClickLayout& layout, const ClickLogMark& mark,
          const std::filesystem::path& file, CacheWatch& watch) {
    watch.all = mark.bytes;
    watch.is_making = true;
    const auto clicks = open_clicks(log, layout);
    ClickLog block;
    clicks->next(block);
    const UnfinishedFile made(fmt::format("{}.{}{}", file.string(), random_id(), unfinished_suffix));
    ClickCacheWriter cache(made.path(), clicks->integers(), clicks->slots());
    for (bool goes_on = true; goes_on;) {
        goes_on = clicks->next(block);
        if (block.size() < cache.samples_of_a_block() && goes_on) continue;
        check_watch(watch);
        if (block.size() > 0) cache.write(block);
        clear(block);
        watch.done = clicks->bytes_read();
    }
    cache.finish(mark);
    if (mark_of(log, layout) != mark)
        throw UsageError(
            fmt::format("{} has changed while it was read; start again when it is complete", log.string()));
    publish_file(made.path(), file);
    watch.is_making = false;
}

}  // namespace

std::filesystem::path click_cache_of(const std::filesystem::path& log, const std::filesystem::path& folder) {
    std::error_code ignored;
    auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(log), ignored);
    if (path.empty()) path = log;
    storage::Hash hash;
    hash.add(path.string());
    return folder / fmt::format("{}-{:016x}.clicks", log.filename().string(), hash.value());
}

PreparedCache prepare_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                  const std::filesystem::path& folder, CacheWatch& watch) {
    PreparedCache out{.file = click_cache_of(log, folder)};
    try {
        const auto mark = mark_of(log, layout);
        // False if there is a valid cache.
        const auto is_needed = [&] {
            const bool exists = std::filesystem::exists(out.file);
            if (exists) out.flaw = flaw_of(out.file, mark, layout, watch);
            return !exists || out.flaw;
        };
        if (!is_needed()) return out;
        if (const auto failed = make_writable_folder(folder))
            throw std::system_error(failed, fmt::format("cannot write into {}", folder.string()));
        const CacheLock lock(out.file.string() + ".lock", watch);
        if (lock.others_were_first() && !is_needed()) return out;
        if (lock.is_locked()) remove_unfinished(out.file);
        make(log, layout, mark, out.file, watch);
        out.is_new = true;
        return out;
    } catch (const std::system_error& failed) {
        throw UsageError(fmt::format("[data] cache: {}", failed.what()));
    }
}

ClickCacheFile open_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                const std::filesystem::path& folder) {
    try {
        ClickCacheFile cache(click_cache_of(log, folder));
        if (const auto what = change(cache.info().log, mark_of(log, layout)))
            throw UsageError(fmt::format(
                "{}: {}; jobs that read other columns of a log at the same time need a folder each",
                cache.path().string(), *what));
        check_columns(cache, layout);
        return cache;
    } catch (const std::system_error& failed) {
        throw UsageError(fmt::format("[data] cache: {}", failed.what()));
    }
}

}  // namespace dtrain::data
