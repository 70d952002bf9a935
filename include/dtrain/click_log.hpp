// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dtrain {

/// Columns of a click log in Criteo's format, behind the label. Those of Criteo's logs (Display Advertising
/// Challenge, 2014) are the default.
struct ClickColumns {
    std::int64_t integers = 13;  ///< 0..4096
    std::int64_t slots = 26;     ///< places for categories: the advertiser's, the user's, ...; 1..4096
    friend bool operator==(const ClickColumns&, const ClickColumns&) = default;
};

/// Columns of a click log in CSV (RFC 4180, but for line ends within quotes): a line per sample; the label, 0
/// or 1; numbers, fractions too; categories, which are text_category() of any text. Blanks around a field do
/// not count. A number or a category that is missing (the field is empty) is what it is in Criteo's format. A
/// column is told by its name in the header or by its number from 1.
struct CsvClickColumns {
    std::string label = {};  ///< empty: "label" or "click" of the header; without a header the first column
    /// Numbers and categories, 0..4096 and 1..4096 of them, in the order that samples have them in. With one
    /// list alone all other columns but the label are in the other one; with none all are categories.
    std::optional<std::vector<std::string>> numbers = {};
    std::optional<std::vector<std::string>> categories = {};
    char separator = ',';
    /// None: unless the first line has a label, 0 or 1, in its column. Refused when that is another number.
    std::optional<bool> header = {};
    friend bool operator==(const CsvClickColumns&, const CsvClickColumns&) = default;
};

/// What the ids of a click log in svmlight's format mean: lines "LABEL ID:VALUE ID:VALUE ... # comment", with
/// 1 for a click, else 0, or -1 throughout the file. Ids of numbers have any value, and 0 where they are
/// missing; every other id is a category, and its value 1. Where slots are told by their ids, any may be
/// missing, which is what it is in Criteo's format; else every line has all. "qid:" is skipped. Ids need not
/// ascend.
struct SvmlightClickColumns {
    std::int64_t numbers = 0;  ///< the values of so many ids, from `first_id` on, are numbers; 0..4096
    /// Categories in each line, 1..4096: the first belongs to slot 0, the next one to slot 1, ...; 0: as many
    /// as the first line has. Not used with `slot_ids`.
    std::int64_t slots = 0;
    /// The least id of each slot, ascending; a slot's ids go up to the next one's. A line has one category of
    /// a slot at most. Empty: see `slots`.
    std::vector<std::int64_t> slot_ids = {};
    std::int64_t first_id = 1;  ///< the least id of all
    friend bool operator==(const SvmlightClickColumns&, const SvmlightClickColumns&) = default;
};

/// How a click log is written, and what of it is read.
using ClickLayout = std::variant<ClickColumns, CsvClickColumns, SvmlightClickColumns>;

/// The format that a file's name tells, `.gz` left aside, with its defaults: ".csv"; ".svm", ".svmlight" and
/// ".libsvm"; any other name: Criteo's.
ClickLayout click_layout_of(const std::filesystem::path& file);

/// A layout with what it leaves open as `log` has it, so that another log is read alike: all columns of
/// CSV, by name where there is a header, and how many categories lines of svmlight have. Reads the log's
/// beginning alone. Not collective. @throws UsageError as ClickLog::read
ClickLayout click_layout_in(const std::filesystem::path& log, const ClickLayout& layout);

inline constexpr std::int64_t max_click_columns = 4096;  ///< of each kind

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

    /// Reads a file that is written in any of the ways of ClickLayout. Not collective.
    /// @throws UsageError naming file, line and column or word when it cannot be read, is damaged or no such
    /// file, or lacks what the layout asks for.
    static ClickLog read(const std::filesystem::path& file, const ClickLayout& layout);

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
float damped(double value);

/// The category that a text stands for: its value when it is a whole number from 0 to 2^64-1 without a sign
/// or zeros ahead, and else XXH64 of its bytes with the seed 0. The same on every machine and for ever:
/// stored tables rely on it.
std::uint64_t text_category(std::string_view text);

/// The id of a category in a slot. Within a slot every category has its own: it is SplitMix64's output of the
/// category xor SplitMix64's first number from the state `slot` (0, 1, ...), and both steps are bijections.
/// What 4096 slots make of their numbers differs in its upper half, so categories below 2^32, which Criteo's
/// are, never have an id in common with those of another slot; any two others do with a chance of 2^-64. The
/// same on every machine and for ever: stored tables rely on it.
std::int64_t category_id(std::int64_t slot, std::uint64_t category);

/// The id of a missing category: that of category 0 in a slot 2^32 further on.
std::int64_t missing_id(std::int64_t slot);

}  // namespace dtrain
