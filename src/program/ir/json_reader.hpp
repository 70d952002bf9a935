// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <dtrain/program.hpp>

namespace dtrain::program {

/// A value of a JSON text together with its location, for error messages.
class JsonReader {
  public:
    /// @param source the text's name @param location that of the value in it: "variables[3].shape"; "" is
    /// the whole text
    JsonReader(const nlohmann::ordered_json& value, std::string source, std::string location)
        : value_(&value), source_(std::move(source)), location_(std::move(location)) {}

    /// @throws UsageError that `expected` was expected here
    [[noreturn]] void fail(std::string_view expected) const;

    bool is_object() const { return value_->is_object(); }
    bool is_text() const { return value_->is_string(); }
    bool is_number() const { return value_->is_number(); }
    bool is_whole() const { return value_->is_number_integer(); }

    // All throw UsageError if the value is of another kind.
    std::string text() const;
    std::int64_t whole() const;
    double number() const;
    std::vector<std::int64_t> wholes() const;
    std::vector<double> numbers() const;
    std::vector<JsonReader> elements() const;
    std::vector<std::string> keys() const;

    bool has(const std::string& key) const { return value_->contains(key); }
    JsonReader at(const std::string& key) const;

    /// @throws UsageError if a key of the first list is missing or there is a key that is in neither list
    void expect_keys(std::initializer_list<std::string> needed,
                     std::initializer_list<std::string> allowed = {}) const;

    /// Runs the action. @throws UsageError with this value's location if it throws ProgramError
    template <class Action>
    void check(const Action& action) const {
        try {
            action();
        } catch (const ProgramError& error) {
            throw UsageError(source_ + ": " + location_ + ": " + error.what());
        }
    }

  private:
    const nlohmann::ordered_json* value_;
    std::string source_;
    std::string location_;
};

}  // namespace dtrain::program
