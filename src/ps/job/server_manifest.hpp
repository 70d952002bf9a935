// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// servers.json, the file that makes a folder into which servers have saved a checkpoint. Format: a line
/// "dtrain servers 1 of N bytes, xxh3 HEX", then N bytes of JSON that name all files, with checksums of whole
/// files or, for tables, of their headers, which contain the checksums of the rest.
namespace dtrain::ps {

/// XXH3 of a file, in the manifest's notation. @throws UsageError naming the file if it cannot be read
std::string sum_of(const std::filesystem::path& file);

/// A file named by the manifest, in its folder. @throws UsageError if the name leads to another folder
std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name);

/// Throws a UsageError that names the file and what is wrong with it.
[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what);

/// Writes the manifest, which also lists files that are already in the folder.
/// @param servers the results of Saver::finish(), by server
/// @param needs names of the sibling folders with the saves that this one builds on, starting with the full
/// one
/// @throws Error naming the file that cannot be written
void write_manifest(const std::filesystem::path& folder, std::span<const std::string> servers,
                    std::span<const std::string> needs = {});

/// @throws UsageError if it cannot be read, is damaged or invalid
nlohmann::json read_manifest(const std::filesystem::path& folder);

/// The folders that it builds on, followed by itself. @throws UsageError if the manifest names something else
std::vector<std::filesystem::path> chain_of(const std::filesystem::path& folder,
                                            const nlohmann::json& manifest);

/// Names of the sibling folders that a checkpoint builds on; empty if it has no readable manifest.
std::vector<std::string> needs_of(const std::filesystem::path& folder);

/// Verifies the checksums of the files that belong to no server.
/// @throws UsageError naming the file that is damaged
void check_others(const std::filesystem::path& folder, const nlohmann::json& manifest);

}  // namespace dtrain::ps
