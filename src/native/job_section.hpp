// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include <dtrain/device.hpp>

namespace dtrain::native {

inline constexpr std::int64_t max_size = std::int64_t{1} << 24;  ///< maximum extent of layers and batches
inline constexpr std::int64_t max_whole = std::numeric_limits<std::int64_t>::max();

struct Range {
    double min;
    double below;
    const char* allowed;
};
inline constexpr Range not_negative{0, 1e30, "a number from 0 to below 1e30"};

/// One table of the job file. Every reading function takes the key's default. Errors name file, line, key,
/// value and what is allowed.
class Section {
  public:
    Section(const toml::table& table, std::string file, std::string name, std::vector<std::string> known);

    bool has(std::string_view key) const { return table_.contains(key); }
    std::string text(std::string_view key, std::string otherwise) const;
    std::string one_of(std::string_view key, std::string otherwise,
                       const std::vector<std::string>& allowed) const;
    /// The value of `allowed` whose text is given. @param text gives the text of a value
    template <class Enum, class Text>
    Enum choice(std::string_view key, Enum otherwise, std::initializer_list<Enum> allowed,
                const Text& text) const {
        std::vector<std::string> texts;
        for (const auto value : allowed) texts.push_back(text(value));
        const auto chosen = one_of(key, text(otherwise), texts);
        return allowed.begin()[std::ranges::find(texts, chosen) - texts.begin()];
    }
    std::int64_t whole(std::string_view key, std::int64_t otherwise, std::int64_t min,
                       std::int64_t max) const;
    /// A whole number or a string, as a string.
    std::string whole_or_text(std::string_view key, std::int64_t min, std::int64_t max) const;
    std::vector<std::int64_t> wholes(std::string_view key, std::vector<std::int64_t> otherwise,
                                     std::int64_t min, std::int64_t max) const;
    std::vector<double> numbers(std::string_view key, std::vector<double> otherwise,
                                const Range& range) const;
    bool truth(std::string_view key, bool otherwise) const;
    double number(std::string_view key, double otherwise, const Range& range) const;
    /// "1GiB", "500 MB" or a number of bytes.
    std::int64_t bytes(std::string_view key, std::int64_t otherwise) const;
    /// "cpu", "gpu" or "gpu:1"; nothing if the key is missing.
    std::optional<Device> device(std::string_view key) const;

    /// A column of a file, by name or by 1-based number, as a string.
    std::string column(std::string_view key) const;
    std::vector<std::string> columns(std::string_view key) const;
    /// A column separator: one character, or "tab".
    char separator(std::string_view key, char otherwise) const;

    bool is_list(std::string_view key) const;
    /// Whether there is a table at `key` that contains the key `inner`.
    bool is_table_with(std::string_view key, std::string_view inner) const;

    /// A table with arbitrary keys whose values are strings or whole numbers; returned as strings.
    std::map<std::string, std::string> words(std::string_view key) const;

    /// The table at `key`; empty if missing.
    Section section(std::string_view key, std::vector<std::string> known) const;

    [[noreturn]] void fail(std::string_view key, const std::string& what) const;

  private:
    std::string column_of(std::string_view key, const toml::node& node) const;
    double number_of(std::string_view key, const toml::node& node, const Range& range) const;
    void refuse_unknown_keys() const;
    std::int64_t whole_of(std::string_view key, const toml::node& node, std::int64_t min,
                          std::int64_t max) const;
    [[noreturn]] void refuse(std::string_view key, const toml::node& node, const std::string& allowed) const;

    const toml::table& table_;
    std::string file_;
    std::string name_;
    std::vector<std::string> known_;
};

}  // namespace dtrain::native
