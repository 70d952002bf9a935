// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <dtrain/environment.hpp>

#include "transport/key.hpp"

/// The file of a user's key: ~/.dtrain/key, or the one that DTRAIN_KEY_FILE names.
namespace dtrain::transport {

/// @throws UsageError if neither DTRAIN_KEY_FILE nor HOME is set.
std::filesystem::path key_file(const Environment& environment);

/// Reads a key from a file that only its owner can read.
/// @throws UsageError for a file that does not exist, that others may read or write, or that holds no key;
/// the message has the command that fixes it.
Key read_key(const std::filesystem::path& file);

/// Like read_key(), but creates a new key if there is no file. If several processes do so at once, on one
/// machine or on a shared home, all get the same key.
Key read_or_make_key(const std::filesystem::path& file);

/// Writes the key of another node.
/// @throws UsageError if the text is not a key.
void install_key(const std::filesystem::path& file, std::string_view text);

/// The command that installs this key on another node. `echo` is a shell built-in: the key does not appear in
/// any process list.
std::string install_command(const Key& key);

/// For messages: how to copy the key of `from` to `to`; contains no secret.
std::string how_to_copy_key(const std::string& from, const std::string& to);

}  // namespace dtrain::transport
