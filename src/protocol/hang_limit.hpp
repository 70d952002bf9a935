// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain::cluster {

/// How long a rank may be inactive before it counts as idle: --hang-timeout.
struct HangLimit {
    std::chrono::milliseconds time{0};  ///< 0: for ever
    bool is_learned = false;            ///< from how long it usually is; `time` is the shortest

    bool watches() const { return time.count() > 0; }
    friend bool operator==(const HangLimit&, const HangLimit&) = default;
};

inline constexpr std::chrono::seconds max_hang_limit{864'000};

/// "auto"
inline constexpr HangLimit learned_hang_limit{std::chrono::seconds(60), true};

/// Reads "600", "2.5", "auto", and "auto:15": learned, but at least 15 s. @returns nothing if it is none of
/// these, or not in 0..max_hang_limit
std::optional<HangLimit> parse_hang_limit(std::string_view text);

std::string to_string(const HangLimit& limit);

/// What parse_hang_limit() takes, for messages.
std::string hang_limit_choices();

}  // namespace dtrain::cluster
