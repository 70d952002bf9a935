// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// 128 random bits in hexadecimal, which nobody else has.
std::string random_mark();

}  // namespace dtrain
