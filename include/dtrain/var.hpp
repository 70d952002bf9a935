// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtrain {

/// A variable of a program, as layers return and accept it. It is known by its name only, so it is valid in
/// every program that has a variable of that name: in copies of the program, and in what passes make of it.
/// Wherever a Var is expected, the name as a string will do, and the other way round.
class Var {
  public:
    /// No variable.
    Var() = default;
    /// The variable of this name.
    Var(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor): a name will do
    /// The variable of this name.
    Var(const char* name) : name_(name) {}  // NOLINT(google-explicit-constructor): a name will do

    /// Empty if this is no variable.
    const std::string& name() const { return name_; }
    /// True if this is no variable.
    bool empty() const { return name_.empty(); }

    /// A copy of the name.
    operator std::string() const { return name_; }  // NOLINT(google-explicit-constructor)
    /// The name; valid as long as this object.
    operator std::string_view() const { return name_; }  // NOLINT(google-explicit-constructor)

    /// Compares names.
    friend bool operator==(const Var&, const Var&) = default;

  private:
    std::string name_;
};

/// Several variables, in order: {x, y}, or a vector of variables or of names.
class Vars {
  public:
    /// No variable.
    Vars() = default;
    /// These variables.
    Vars(std::initializer_list<Var> vars) : vars_(vars) {}
    /// These variables.
    Vars(std::vector<Var> vars) : vars_(std::move(vars)) {}  // NOLINT(google-explicit-constructor)
    /// The variables of these names.
    Vars(const std::vector<std::string>& names)  // NOLINT(google-explicit-constructor): names will do
        : vars_(names.begin(), names.end()) {}

    /// Their names.
    operator std::vector<std::string>() const {  // NOLINT(google-explicit-constructor): names will do
        return {vars_.begin(), vars_.end()};
    }

    /// How many there are.
    std::size_t size() const { return vars_.size(); }
    /// True if there is none.
    bool empty() const { return vars_.empty(); }
    /// The variable at this index, which must be below size().
    const Var& operator[](std::size_t index) const { return vars_[index]; }
    /// The first one. There must be one.
    const Var& front() const { return vars_.front(); }
    /// The first one, for loops.
    std::vector<Var>::const_iterator begin() const { return vars_.begin(); }
    /// Behind the last one, for loops.
    std::vector<Var>::const_iterator end() const { return vars_.end(); }

    /// Compares names, in order.
    friend bool operator==(const Vars&, const Vars&) = default;

  private:
    std::vector<Var> vars_;
};

}  // namespace dtrain
