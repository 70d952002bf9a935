// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/key.hpp"

namespace dtrain::link {

inline const Key key = *Key::parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
inline const Key other = *Key::parse("ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");

}  // namespace dtrain::link
