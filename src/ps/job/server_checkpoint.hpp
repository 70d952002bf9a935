// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "ps/job/server_plan.hpp"

/// What servers write into a folder together: from each one dense-NNNN-of-NNNN.h5, a checkpoint file
/// (format 1) of its blocks, and a file of its rows of every table; then servers.json, by the trainer that
/// asked: a line "dtrain servers 1 of N bytes, xxh3 HEX" and N bytes of JSON that name all files, with
/// checksums of whole files or, of tables, of the headers that have those of the rest. Files that are there
/// already are in it too.
namespace dtrain::ps {

/// Writes this server's files. @returns what the manifest says of them
/// @throws Error naming the file
std::string save_parts(const ServerPlan& plan, Server& server, const std::filesystem::path& folder);

/// @param servers what save_parts() returned, by server
void write_manifest(const std::filesystem::path& folder, std::span<const std::string> servers);

/// This server's part of what any number of servers have saved.
/// @throws UsageError naming the file that is missing, damaged or of another model
ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder);

}  // namespace dtrain::ps
