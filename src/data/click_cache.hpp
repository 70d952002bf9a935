// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <dtrain/click_log.hpp>

#include "data/click_cache_file.hpp"

/// Caches of click logs in a folder, each created once from the text.
namespace dtrain::data {

/// Lets another thread watch and stop prepare_click_cache().
struct CacheWatch {
    std::atomic<bool> stops = false;      ///< set to true to stop
    std::atomic<bool> is_making = false;  ///< true while a cache is being created, not verified
    std::atomic<std::int64_t> done = 0;   ///< bytes of the log (creating), or of the cache (verifying)
    std::atomic<std::int64_t> all = 0;
};

/// Why an existing cache could not be used.
struct CacheIssue {
    std::string what;
    bool is_damage = false;  ///< false: the log or its layout has changed
};

struct PreparedCache {
    std::filesystem::path file;
    bool is_new = false;
    std::optional<CacheIssue> flaw = {};  ///< of the previous cache
};

/// The path of a log's cache: "FILE-HASH.clicks", where HASH is that of the log's absolute path.
std::filesystem::path click_cache_of(const std::filesystem::path& log, const std::filesystem::path& folder);

/// Ensures that a valid cache of a log exists. An existing one is read once and verified by its checksums. If
/// it is damaged, or the log's size, modification time or layout has changed, it is recreated, with memory
/// for one block. Only complete caches get the final name. Concurrent processes wait for one of them
/// (flock()); on a file system without locks, each creates its own, and the last one remains. Does not use
/// HDF5.
/// @param layout from click_layout_in()
/// @throws UsageError naming file and line of the log, or why nothing can be written; Error if stopped
PreparedCache prepare_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                  const std::filesystem::path& folder, CacheWatch& watch);

/// Opens a cache that prepare_click_cache() has prepared with the same arguments.
/// @throws UsageError if it does not exist or has changed since; DamagedCache
ClickCacheFile open_click_cache(const std::filesystem::path& log, const ClickLayout& layout,
                                const std::filesystem::path& folder);

}  // namespace dtrain::data
