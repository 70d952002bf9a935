// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

/// The part of dtrain-launch --check that runs on each node.
namespace dtrain::launch {

/// Why nothing can be written into a folder, which may not exist yet; "" if it can. Leaves no files behind.
std::string why_not_writable(const std::string& folder);

/// Reads tasks on stdin and answers on stdout, until stdin ends. With `--call HOST PORT NONCE NODE` a
/// connection to the asking machine replaces both, for remote shells that pass neither.
int run_check_node(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
