// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain {

/// An invalid program: an operator, a variable or a shape does not fit.
class ProgramError : public UsageError {
  public:
    /// @param operator_type, variable empty if none is involved
    ProgramError(const std::string& message, std::string operator_type, std::string variable)
        : UsageError(message), operator_type_(std::move(operator_type)), variable_(std::move(variable)) {}

    /// Type of the operator that does not fit; empty if no operator is involved.
    const std::string& operator_type() const { return operator_type_; }

    /// Name of the variable that does not fit; empty if no variable is involved.
    const std::string& variable() const { return variable_; }

  private:
    std::string operator_type_;
    std::string variable_;
};

/// What a variable is for.
enum class Role {
    data,             ///< fed before every step
    parameter,        ///< kept in a State; trained
    temporary,        ///< computed in every step
    gradient,         ///< computed in every step by the backward pass
    optimizer_state,  ///< kept in a State; maintained by the optimizer
    metric,           ///< kept in a State; counts of a metric, in training and in tests
};

/// "data", "parameter", ...
std::string to_string(Role role);

/// True for roles that outlive a step: parameters, optimizer state and counts of metrics.
constexpr bool is_persistable(Role role) {
    return role == Role::parameter || role == Role::optimizer_state || role == Role::metric;
}

/// True for roles that only training changes: parameters and optimizer state.
constexpr bool is_trained(Role role) {
    return role == Role::parameter || role == Role::optimizer_state;
}

/// How a persistable variable is initialised. Values depend only on the seed, the variable's name and the
/// element's index, never on ranks, threads or the order of variables.
struct Initializer {
    /// The distribution of the values.
    enum class Kind { constant, uniform };
    Kind kind = Kind::constant;  ///< the distribution
    double value = 0;            ///< constant: the value; uniform: values are in [-value, value)
    /// A block of another variable starts with the values of that variable from `first_element` on; "": the
    /// variable is not a block.
    std::string block_of = {};
    std::int64_t first_element = 0;  ///< with block_of: index of the first element

    /// All elements have this value.
    static Initializer constant(double value) { return {Kind::constant, value}; }

    /// Uniform in +-sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, AISTATS 2010, equation 16.
    static Initializer xavier_uniform(std::int64_t fan_in, std::int64_t fan_out);

    friend bool operator==(const Initializer&, const Initializer&) = default;
};

/// A variable of a program: a tensor of fixed shape.
struct Variable {
    std::string name = {};              ///< unique in its program
    Shape shape = {};                   ///< every extent >= 1; the batch is fixed when the program is built
    DataType type = DataType::float32;  ///< of the elements
    Role role = Role::temporary;        ///< what it is for
    Initializer initializer = {};       ///< used for persistable variables
    friend bool operator==(const Variable&, const Variable&) = default;
};

/// A variable bound to a slot of an operator. A slot that takes several variables occurs once for each of
/// them.
struct Argument {
    std::string slot = {};      ///< of the operator
    std::string variable = {};  ///< its name
    friend bool operator==(const Argument&, const Argument&) = default;
};

/// A step of a program: an operator's type, its variables and attributes.
struct Operator {
    std::string type = {};               ///< "fc", "relu", ...
    std::vector<Argument> inputs = {};   ///< in the order of the operator's schema
    std::vector<Argument> outputs = {};  ///< in the order of the operator's schema
    Attributes attributes = {};          ///< parameters that are not tensors

    /// Variable in this input slot, or "" if the slot is not used.
    const std::string& input(std::string_view slot) const;

    /// Variable in this output slot, or "" if the slot is not used.
    const std::string& output(std::string_view slot) const;

    friend bool operator==(const Operator&, const Operator&) = default;
};

/// A static graph: variables, and the operators that run one after the other in every step. A value type:
/// passes take a Program and return another one. Operators are checked when they are appended, so a Program
/// is always consistent.
class Program {
  public:
    /// In the order in which they were added.
    const std::vector<Variable>& variables() const& { return variables_; }
    /// In the order in which they run.
    const std::vector<Operator>& operators() const& { return operators_; }
    /// As the other variables().
    std::vector<Variable> variables() && { return std::move(variables_); }
    /// As the other operators().
    std::vector<Operator> operators() && { return std::move(operators_); }

    /// Whether there is a variable of this name.
    bool has(std::string_view name) const;

    /// @throws ProgramError, which names the closest known variable, if there is none of that name.
    const Variable& variable(std::string_view name) const;

    /// Adds a variable.
    /// @throws ProgramError if the name is empty or taken, an extent is below 1 or there are more than 2^48
    /// elements.
    void add(Variable variable);

    /// Appends an operator whose variables all exist.
    /// @throws ProgramError naming operator, variable, expected and given shape or type if the operator is
    /// unknown, a variable is missing or shapes do not fit.
    void append(Operator op);

    /// Appends an operator and adds its outputs as variables with the shapes that follow from its inputs.
    /// Each name in op.outputs must be new.
    /// @throws ProgramError as append() does.
    void append_with_outputs(Operator op, Role role = Role::temporary);

    /// `stem` followed by "_0", "_1", ...: the first such name that is neither the name of a variable nor the
    /// part of one before a dot.
    std::string unique_name(std::string_view stem) const;

    /// The whole program as text, one line per variable and operator; the form is stable, for readers and
    /// tests.
    std::string to_string() const;

    friend bool operator==(const Program&, const Program&) = default;

  private:
    std::vector<Variable> variables_;
    std::vector<Operator> operators_;
};

}  // namespace dtrain
