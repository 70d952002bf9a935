// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtrain {

/// A set of environment variables as a value, so that whatever depends on them is a pure function.
class Environment {
  public:
    Environment() = default;
    Environment(std::initializer_list<std::pair<const std::string, std::string>> variables)
        : variables_(variables) {}

    /// The variables of the calling process.
    static Environment of_this_process();

    /// The value, or nothing when the variable is not set. Set to "" is not the same as not set.
    std::optional<std::string> get(std::string_view name) const;
    std::string get_or(std::string_view name, std::string_view otherwise) const;
    bool has(std::string_view name) const;

    /// The value as a whole number, or nothing when the variable is not set or empty.
    /// @throws UsageError naming variable and value when it is no number, or is below `least`.
    std::optional<int> get_int(std::string_view name, int min = 0) const;

    void set(std::string name, std::string value);
    /// All variables of `others`, over those that are there.
    void set_all(const Environment& others);
    void unset(std::string_view name);

    /// "NAME=value" strings in name order, for exec.
    std::vector<std::string> to_strings() const;

    auto begin() const { return variables_.begin(); }
    auto end() const { return variables_.end(); }
    std::size_t size() const { return variables_.size(); }
    friend bool operator==(const Environment&, const Environment&) = default;

  private:
    std::map<std::string, std::string, std::less<>> variables_;
};

}  // namespace dtrain
