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

/// Columns of a click log in Criteo's format, after the label. The defaults are those of Criteo's logs
/// (Display Advertising Challenge, 2014).
struct ClickColumns {
    std::int64_t integers = 13;  ///< 0..4096
    std::int64_t slots = 26;     ///< categorical columns: advertiser, user, ...; 1..4096
    friend bool operator==(const ClickColumns&, const ClickColumns&) = default;
};

/// Columns of a click log in CSV (RFC 4180, except for line breaks within quotes): a line per sample; the
/// label, 0 or 1; numbers, including fractions; categories, which are text_category() of any text. Whitespace
/// around a field is ignored. A missing number or category (an empty field) is treated as in Criteo's format.
/// A column is identified by its name in the header or by its number from 1.
struct CsvClickColumns {
    std::string label = {};  ///< empty: "label" or "click" of the header; without a header the first column
    /// Numeric and categorical columns, 0..4096 and 1..4096 of them, in the order in which samples have them.
    /// With only one list, the other one consists of all other columns except the label; with none, all are
    /// categorical.
    std::optional<std::vector<std::string>> numbers = {};
    std::optional<std::vector<std::string>> categories = {};  ///< see `numbers`
    char separator = ',';                                     ///< between two fields
    /// None: the first line is a header unless it has a label, 0 or 1, in the label's column; another number
    /// there is refused.
    std::optional<bool> header = {};
    friend bool operator==(const CsvClickColumns&, const CsvClickColumns&) = default;
};

/// Interpretation of the ids of a click log in svmlight's format: lines "LABEL ID:VALUE ID:VALUE ... #
/// comment", with 1 for a click and otherwise 0, or -1 throughout the file. Ids of numbers may have any
/// value, and are 0 if missing; every other id is a category with value 1. If `slot_ids` is set, any slot may
/// be missing, which is treated as in Criteo's format; otherwise every line has all slots. "qid:" is skipped.
/// Ids need not be ascending.
struct SvmlightClickColumns {
    std::int64_t numbers = 0;  ///< this many ids, starting with `first_id`, are numbers; 0..4096
    /// Categories in each line, 1..4096: the first belongs to slot 0, the next one to slot 1, ...; 0: as many
    /// as in the first line. Not used with `slot_ids`.
    std::int64_t slots = 0;
    /// The smallest id of each slot, ascending; a slot's ids extend to the next slot's. A line has at most
    /// one category per slot. Empty: see `slots`.
    std::vector<std::int64_t> slot_ids = {};
    std::int64_t first_id = 1;  ///< the smallest id of all
    friend bool operator==(const SvmlightClickColumns&, const SvmlightClickColumns&) = default;
};

/// Format and columns of a click log.
using ClickLayout = std::variant<ClickColumns, CsvClickColumns, SvmlightClickColumns>;

/// The format that a file name implies, ignoring `.gz`, with its defaults: ".csv"; ".svm", ".svmlight" and
/// ".libsvm"; any other name: Criteo's.
ClickLayout click_layout_of(const std::filesystem::path& file);

/// Completes a layout from the contents of `log`, so that another log is read in the same way: all columns of
/// CSV, by name if there is a header, and the number of categories per line of svmlight. Reads only the log's
/// first lines. Not collective. @throws UsageError as ClickLog::read
ClickLayout click_layout_in(const std::filesystem::path& log, const ClickLayout& layout);

inline constexpr std::int64_t max_click_columns = 4096;  ///< of each kind

/// Samples of a click log (what was shown and whether it was clicked) in memory, one after the other.
struct ClickLog {
    std::int64_t integers = 0;           ///< values of `dense` per sample
    std::int64_t slots = 0;              ///< ids per sample
    std::vector<float> labels = {};      ///< 1 for a click, otherwise 0
    std::vector<float> dense = {};       ///< [samples, integers], values of damped()
    std::vector<std::int64_t> ids = {};  ///< [samples, slots], values of category_id() and missing_id()

    /// Reads a file in Criteo's format, optionally gzip-compressed: a line per sample, tab-separated columns:
    /// the label, 0 or 1; integers; categories, which are hexadecimal numbers of up to 16 digits. A missing
    /// number (empty column) counts as 0; a missing category is a category of its own. Not collective.
    /// @throws UsageError naming file and line if it cannot be read, is damaged or is not such a file.
    static ClickLog read(const std::filesystem::path& file, const ClickColumns& columns = {});

    /// Reads a file in any of the formats of ClickLayout. Not collective.
    /// @throws UsageError naming file, line and column or word if it cannot be read, is damaged or is not
    /// such a file, or lacks what the layout requires.
    static ClickLog read(const std::filesystem::path& file, const ClickLayout& layout);

    /// Number of samples.
    std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }

    /// A 64-bit hash of all contents.
    std::uint64_t fingerprint() const;

    /// Copies samples into a batch's buffers: rows of `dense` and `ids`, and labels. @throws Error if the
    /// buffers have other sizes
    void gather(std::span<const std::int64_t> samples, std::span<float> dense_rows,
                std::span<std::int64_t> id_rows, std::span<float> label_rows) const;

    friend bool operator==(const ClickLog&, const ClickLog&) = default;
};

/// sign(x) log(1 + |x|): brings small and very large counts to a similar scale and keeps the sign.
float damped(double value);

/// The category of a text: its value if it is an integer from 0 to 2^64-1 without a sign or leading zeros,
/// otherwise XXH64 of its bytes with seed 0. The mapping must never change on any machine: stored tables rely
/// on it.
std::uint64_t text_category(std::string_view text);

/// The id of a category in a slot. Ids are unique within a slot: the id is SplitMix64's output of the
/// category xor SplitMix64's first number from the state `slot` (0, 1, ...), and both steps are bijections.
/// The numbers of 4096 slots differ in their upper halves, so categories below 2^32, such as Criteo's, never
/// share an id with those of another slot; any other two do with a probability of 2^-64. The mapping must
/// never change on any machine: stored tables rely on it.
std::int64_t category_id(std::int64_t slot, std::uint64_t category);

/// The id of a missing category: the id of category 0 in slot + 2^32.
std::int64_t missing_id(std::int64_t slot);

}  // namespace dtrain
