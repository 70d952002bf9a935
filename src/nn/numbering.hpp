// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace dtrain::eager {

/// Numbers from which names and random values of this process are derived; nn::seed() resets it.
struct Numbering {
    std::uint64_t seed = 1;
    std::map<std::string, std::int64_t, std::less<>> next = {};  ///< by kind

    /// 0, 1, 2, ...
    std::int64_t number(const std::string& of) { return next[of]++; }
};

Numbering& numbering();

}  // namespace dtrain::eager
