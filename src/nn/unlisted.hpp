// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "nn/leaf.hpp"

namespace dtrain::eager {

/// Records that a backward pass has reached a parameter.
void note_reached(const std::shared_ptr<Leaf>& leaf);

/// A line naming the parameters that backward passes have reached but that are not in parameters() of any
/// layer nor in any optimizer: plain members of a network, which compute and are never trained. "" if there
/// are none. Each is reported at most once.
std::string unlisted_line();

}  // namespace dtrain::eager
