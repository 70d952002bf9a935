// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/optimizer.hpp>

namespace dtrain::model {

/// "adam", "momentum", ...
std::string name_of(const Optimizer& optimizer);

}  // namespace dtrain::model
