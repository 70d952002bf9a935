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

/// A set of environment variables as a value, so that functions of it are pure.
class Environment {
  public:
    Environment() = default;
    /// These variables.
    Environment(std::initializer_list<std::pair<const std::string, std::string>> variables)
        : variables_(variables) {}

    /// The variables of the calling process.
    static Environment of_this_process();

    /// The value, or nothing if the variable is not set. A variable set to "" counts as set.
    std::optional<std::string> get(std::string_view name) const;
    /// The value, or `otherwise` if the variable is not set.
    std::string get_or(std::string_view name, std::string_view otherwise) const;
    /// Whether the variable is set, to "" as well.
    bool has(std::string_view name) const;

    /// The value as an integer, or nothing if the variable is not set or empty.
    /// @throws UsageError naming variable and value if it is not a number, or is below `min`.
    std::optional<int> get_int(std::string_view name, int min = 0) const;

    /// Sets a variable, or replaces its value.
    void set(std::string name, std::string value);
    /// Sets all variables of `others`, replacing existing ones.
    void set_all(const Environment& others);
    /// Removes a variable, if it is set.
    void unset(std::string_view name);

    /// "NAME=value" strings in name order, for exec.
    std::vector<std::string> to_strings() const;

    /// Name and value of the first variable, in name order.
    auto begin() const { return variables_.begin(); }
    /// Behind the last variable.
    auto end() const { return variables_.end(); }
    /// Number of variables.
    std::size_t size() const { return variables_.size(); }
    friend bool operator==(const Environment&, const Environment&) = default;

  private:
    std::map<std::string, std::string, std::less<>> variables_;
};

}  // namespace dtrain
