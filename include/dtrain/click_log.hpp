// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace dtrain {

/// Columns of a click log behind the label. Those of Criteo's logs (Display Advertising Challenge, 2014) are
/// the default.
struct ClickColumns {
    std::int64_t integers = 13;  ///< 0..4096
    std::int64_t slots = 26;     ///< places for categories: the advertiser's, the user's, ...; 1..4096
    friend bool operator==(const ClickColumns&, const ClickColumns&) = default;
};

inline constexpr std::int64_t most_click_columns = 4096;  ///< of each kind

/// What was shown and whether it was clicked on, in memory, sample after sample.
struct ClickLog {
    std::int64_t integers = 0;           ///< values of `dense` in a sample
    std::int64_t slots = 0;              ///< ids in a sample
    std::vector<float> labels = {};      ///< 1 for a click, or 0
    std::vector<float> dense = {};       ///< [samples, integers], of damped()
    std::vector<std::int64_t> ids = {};  ///< [samples, slots], of category_id() and missing_id()

    /// Reads a file in Criteo's format, which may be compressed by gzip: a line per sample, columns between
    /// tabs: the label, 0 or 1; whole numbers; categories, which are hexadecimal numbers of up to 16 digits.
    /// A number that is missing (the column is empty) counts as 0, a category that is missing is one of its
    /// own. Not collective.
    /// @throws UsageError naming file and line when it cannot be read, is damaged or no such file.
    static ClickLog read(const std::filesystem::path& file, const ClickColumns& columns = {});

    std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }

    /// A 64-bit hash of everything.
    std::uint64_t fingerprint() const;

    /// Copies samples into a batch's buffers: rows of `dense` and `ids`, and labels. @throws Error when the
    /// buffers have other sizes
    void gather(std::span<const std::int64_t> samples, std::span<float> dense_rows,
                std::span<std::int64_t> id_rows, std::span<float> label_rows) const;

    friend bool operator==(const ClickLog&, const ClickLog&) = default;
};

/// sign(x) log(1 + |x|): counts of a few and of millions become numbers of one size, and negative ones keep
/// their sign.
float damped(std::int64_t count);

/// The id of a category in a slot. Within a slot every category has its own: it is SplitMix64's output of the
/// category xor SplitMix64's first number from the state `slot` (0, 1, ...), and both steps are bijections.
/// What 4096 slots make of their numbers differs in its upper half, so categories below 2^32, which Criteo's
/// are, never have an id in common with those of another slot; any two others do with a chance of 2^-64. The
/// same on every machine and for ever: stored tables rely on it.
std::int64_t category_id(std::int64_t slot, std::uint64_t category);

/// The id of a missing category: that of category 0 in a slot 2^32 further on.
std::int64_t missing_id(std::int64_t slot);

}  // namespace dtrain
