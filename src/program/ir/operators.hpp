// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/program.hpp>

/// The operators of a Program: one Schema per operator type.
namespace dtrain::program {

struct TensorType {
    Shape shape;
    DataType type = DataType::float32;
    friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// "float32 [64, 10]"; an extent of -1 is shown as "any".
std::string to_string(const TensorType& type);

struct Slot {
    std::string_view name;
    bool many = false;      ///< takes one or more variables
    bool optional = false;  ///< may be left out
};

/// An extent that matches any value.
inline constexpr std::int64_t any = -1;

/// An operator that is being checked, with its variables.
class Checked {
  public:
    Checked(const Program& program, const Operator& op) : program_(program), op_(op) {}

    const Variable& input(std::string_view slot) const { return program_.variable(op_.input(slot)); }
    const Shape& shape(std::string_view slot) const { return input(slot).shape; }
    std::vector<TensorType> types_of(std::string_view slot) const;
    bool has(std::string_view slot) const { return !op_.input(slot).empty(); }

    std::int64_t whole(std::string_view attribute) const;
    double number(std::string_view attribute) const;
    const std::vector<std::int64_t>& wholes(std::string_view attribute) const;
    const std::vector<double>& numbers(std::string_view attribute) const;

    /// The element type of this input. @throws ProgramError unless it is a real number type
    DataType real(std::string_view slot) const;

    /// @throws ProgramError unless this input's elements are integers of any size
    void expect_integers(std::string_view slot, const Shape& shape) const;

    /// @throws ProgramError unless this input has one integer per row: [rows] or [rows, 1]
    void expect_labels(std::string_view slot, std::int64_t rows) const;

    /// @throws ProgramError unless every input in this slot is of this type; extents may be `any`
    void expect(std::string_view slot, const TensorType& type) const;

    /// @throws ProgramError unless every input in this slot has elements of this type
    void expect_type(std::string_view slot, DataType type) const;

    /// @throws ProgramError that this input is not `expected`
    [[noreturn]] void refuse(std::string_view slot, std::string_view expected) const;

    /// @throws ProgramError that an attribute is not `expected`
    [[noreturn]] void refuse_attribute(std::string_view attribute, std::string_view expected) const;

  private:
    const Program& program_;
    const Operator& op_;
};

/// Appends the gradient operators of one forward operator.
class GradientMaker {
  public:
    virtual ~GradientMaker() = default;
    virtual const Operator& op() const = 0;

    /// The gradient of the loss with respect to an output; "" if the loss does not depend on it.
    virtual std::string of_output(std::string_view slot) const = 0;

    /// The name to use for the gradient with respect to an input; "" if it is not needed.
    virtual std::string of_input(std::string_view slot) = 0;

    /// Like of_input(), but returns a name even if the result is not needed.
    virtual std::string of_input_or_unused(std::string_view slot) = 0;

    /// The same by the argument's index in op(), for slots that take several variables.
    virtual std::string of_output_at(std::size_t number) const = 0;
    virtual std::string of_input_at(std::size_t number) = 0;
    virtual std::string of_input_at_or_unused(std::size_t number) = 0;

    /// A new name for an auxiliary variable of the gradient.
    virtual std::string helper(std::string_view stem) = 0;

    virtual const Variable& variable(std::string_view name) const = 0;

    virtual void append(Operator gradient_operator) = 0;
};

/// What passes and the executor need to know of an operator.
struct Traits {
    /// Each element of the output depends on the elements of the inputs at the same index, so that it may run
    /// block by block with others (element_chains.hpp).
    bool element_wise = false;
    bool activation = false;           ///< `fc` can compute it with its product (fuse_activations())
    bool exchanges_gradients = false;  ///< between ranks
    bool communication = false;        ///< inserted by passes for several ranks; the executor runs it itself
    bool needs_servers = false;        ///< exchanges something with parameter servers
    bool in_blocks = false;            ///< of an update: servers may run it for some rows of a parameter
    /// Of an update: why ranks cannot average what it has updated; "": they can.
    std::string_view refuses_averages = {};
};

struct Schema {
    std::string_view type;
    std::vector<Slot> inputs;
    std::vector<Slot> outputs;
    /// Attributes with their defaults; the type of the default is the attribute's type.
    Attributes attributes = {};
    /// Checks inputs and returns the types of all outputs, in the order of the operator's outputs.
    std::function<std::vector<TensorType>(const Checked&)> infer;
    /// Empty if the operator has no gradient.
    std::function<void(GradientMaker&)> make_gradient = {};
    Traits traits = {};
};

/// Null if there is no such operator.
const Schema* find_schema(std::string_view type);

/// The traits of an operator; none of them if there is no such operator.
const Traits& traits_of(std::string_view type);

/// All operator types, sorted.
std::vector<std::string> operator_types();

}  // namespace dtrain::program
