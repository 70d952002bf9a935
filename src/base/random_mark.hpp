// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// A unique id: 128 random bits in hexadecimal.
std::string random_mark();

}  // namespace dtrain
