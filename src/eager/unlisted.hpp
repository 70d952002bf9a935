// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "eager/leaf.hpp"

namespace dtrain::eager {

/// A backward pass has reached a parameter.
void note_reached(const std::shared_ptr<Leaf>& leaf);

/// A line about the parameters that backward passes have reached, and that parameters() of no layer has
/// listed and no optimizer has: plain members of a network, which compute and are never trained. "" when
/// there is none. Each is in one line at most.
std::string unlisted_line();

}  // namespace dtrain::eager
