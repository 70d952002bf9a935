// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <dtrain/click_log.hpp>

#include "io/click_cache_file.hpp"

/// Caches of click logs in a folder, each made once from its text.
namespace dtrain::io {

/// What another thread may see of prepare_click_cache(), and say to it.
struct CacheWatch {
    std::atomic<bool> stops = false;      ///< true: give up
    std::atomic<bool> is_making = false;  ///< and not looking at one that is there
    std::atomic<std::int64_t> done = 0;   ///< bytes of the log (when it is made), or of the cache
    std::atomic<std::int64_t> all = 0;
};

/// Why a cache that was there was of no use.
struct CacheFlaw {
    std::string what;
    bool is_damage = false;  ///< else the log or its layout is another one now
};

struct PreparedCache {
    std::filesystem::path file;
    bool is_new = false;
    std::optional<CacheFlaw> flaw = {};  ///< of the one before
};

/// Where the cache of a log is: "FILE-HASH.clicks", by the log's absolute path.
std::filesystem::path click_cache_of(const std::filesystem::path& log, const std::filesystem::path& folder);

/// Sees to it that a log's cache is there. One that is there is read once, to compare all of it with its
/// sums; where it is damaged, or the log's size, time of change or layout are others now, it is made anew,
/// in memory for a block. Only whole caches ever have the name. Processes that do so at a time wait for one
/// of them (flock()); where the file system knows no locks, each makes one of its own, and the last one
/// stays. Does not use HDF5.
/// @param layout as click_layout_in() gives it
/// @throws UsageError naming file and line of the log, or why nothing can be written; Error when told to
/// stop
PreparedCache prepare_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                  const std::filesystem::path& folder, CacheWatch& watch);

/// A cache that prepare_click_cache() has seen to, with the same arguments.
/// @throws UsageError when it is not there, or another one by now; DamagedCache
ClickCacheFile open_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                const std::filesystem::path& folder);

}  // namespace dtrain::io
