// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/key.hpp"

namespace dtrain::transport {

inline const Key key = *Key::parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
inline const Key other = *Key::parse("ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");

}  // namespace dtrain::transport
