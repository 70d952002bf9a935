// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <dtrain/environment.hpp>

#include "link/key.hpp"

/// Where a user's key lies: ~/.dtrain/key, or what DTRAIN_KEY_FILE names.
namespace dtrain::link {

/// @throws UsageError when neither DTRAIN_KEY_FILE nor HOME tells.
std::filesystem::path key_file(const Environment& environment);

/// The key of a file that only its owner can read.
/// @throws UsageError for a file that is not there, that others may read or write, or that holds no key; each
/// with the command that repairs it.
Key read_key(const std::filesystem::path& file);

/// The same, after making a new key where there is no file. Of several processes that do so at once, on one
/// machine or on a shared home, all get the same key.
Key read_or_make_key(const std::filesystem::path& file);

/// Writes the key of another node.
/// @throws UsageError when the text is no key.
void install_key(const std::filesystem::path& file, std::string_view text);

/// What to run on another node so that it has this key, too. `echo` is the shell's own: the key is seen in no
/// list of processes.
std::string install_command(const Key& key);

/// For messages: how the key of `from` gets to `to`; says no secret.
std::string how_to_copy_key(const std::string& from, const std::string& to);

}  // namespace dtrain::link
