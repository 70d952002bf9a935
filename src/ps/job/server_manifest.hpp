// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// servers.json, the file that makes a folder into which servers have saved a checkpoint: a line "dtrain
/// servers 1 of N bytes, xxh3 HEX" and N bytes of JSON that name all files, with checksums of whole files or,
/// of tables, of the headers that have those of the rest.
namespace dtrain::ps {

/// XXH3 of a file as the manifest has it. @throws UsageError naming the file when it cannot be read
std::string sum_of(const std::filesystem::path& file);

/// A file in the folder of a manifest. @throws UsageError when the name that the manifest tells leads
/// elsewhere
std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name);

/// Says what is wrong with a file.
[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what);

/// Files that are there already are in it too.
/// @param servers what Saver::finish() returned, by server
/// @param needs names of the folders beside this one that have the saves that this one goes on from, from
/// that of all rows on
/// @throws Error naming the file that cannot be written
void write_manifest(const std::filesystem::path& folder, std::span<const std::string> servers,
                    std::span<const std::string> needs = {});

/// @throws UsageError when it cannot be read or is damaged, or makes no sense
nlohmann::json read_manifest(const std::filesystem::path& folder);

/// The folders that it needs, and then itself. @throws UsageError when the manifest names something else
std::vector<std::filesystem::path> chain_of(const std::filesystem::path& folder,
                                            const nlohmann::json& manifest);

/// Names of the folders beside a checkpoint that it needs: none when it has no manifest that can be read.
std::vector<std::string> needs_of(const std::filesystem::path& folder);

/// Compares the files with their checksums that are of no server.
/// @throws UsageError naming the file that is damaged
void check_others(const std::filesystem::path& folder, const nlohmann::json& manifest);

}  // namespace dtrain::ps
