// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/program_file.hpp>

#include "base/files.hpp"
#include "program/ir/json_reader.hpp"
#include "program/ir/operators.hpp"

namespace dtrain {
namespace {

using Json = nlohmann::ordered_json;
using program::JsonReader;

constexpr std::string_view format_name = "dtrain program";
constexpr std::int64_t format_version = 1;

constexpr std::array roles{Role::data,     Role::parameter,       Role::temporary,
                           Role::gradient, Role::optimizer_state, Role::metric};

double finite(double number, const std::string& owner) {
    if (!std::isfinite(number))
        throw UsageError(
            fmt::format("cannot write the program as text: {} has the number {}", owner, number));
    return number;
}

Json json_of(const std::vector<Argument>& arguments) {
    auto out = Json::array();
    for (const auto& argument : arguments) out.push_back({argument.slot, argument.variable});
    return out;
}

Json json_of(const Variable& variable) {
    Json out{{"name", variable.name},
             {"type", to_string(variable.type)},
             {"shape", variable.shape},
             {"role", to_string(variable.role)}};
    const auto& initializer = variable.initializer;
    if (is_persistable(variable.role) || initializer != Initializer{})
        out["initializer"] = {
            {"kind", initializer.kind == Initializer::Kind::constant ? "constant" : "uniform"},
            {"value", finite(initializer.value, "variable '" + variable.name + "'")}};
    if (!initializer.block_of.empty()) {
        out["initializer"]["block_of"] = initializer.block_of;
        out["initializer"]["first_element"] = initializer.first_element;
    }
    return out;
}

Json json_of(const Operator& op) {
    auto attributes = Json::object();
    for (const auto& [name, value] : op.attributes) {
        const auto owner = fmt::format("operator {}: attribute {}", op.type, name);
        if (const auto* number = std::get_if<double>(&value)) finite(*number, owner);
        if (const auto* numbers = std::get_if<std::vector<double>>(&value))
            for (const auto number : *numbers) finite(number, owner);
        std::visit([&, &key = name](const auto& held) { attributes[key] = held; }, value);
    }
    return {{"type", op.type},
            {"inputs", json_of(op.inputs)},
            {"outputs", json_of(op.outputs)},
            {"attributes", std::move(attributes)}};
}

// The element of `values` whose text form this is.
template <class Values>
auto named(const JsonReader& reader, const Values& values) {
    const auto text = reader.text();
    const auto at = std::ranges::find_if(values, [&](auto value) { return to_string(value) == text; });
    if (at != values.end()) return *at;
    std::string known;
    for (const auto value : values) known += (known.empty() ? "" : ", ") + to_string(value);
    reader.fail("one of " + known);
}

Initializer initializer_from(const JsonReader& reader) {
    reader.expect_keys({"kind", "value"}, {"block_of", "first_element"});
    const auto kind = reader.at("kind").text();
    if (kind != "constant" && kind != "uniform") reader.at("kind").fail("constant or uniform");
    Initializer initializer{kind == "constant" ? Initializer::Kind::constant : Initializer::Kind::uniform,
                            reader.at("value").number()};
    if (reader.has("block_of")) {
        initializer.block_of = reader.at("block_of").text();
        initializer.first_element = reader.at("first_element").whole();
    }
    return initializer;
}

Variable variable_from(const JsonReader& reader) {
    reader.expect_keys({"name", "type", "shape", "role"}, {"initializer"});
    Variable variable{.name = reader.at("name").text(),
                      .shape = reader.at("shape").wholes(),
                      .type = named(reader.at("type"), tensor_types),
                      .role = named(reader.at("role"), roles)};
    if (reader.has("initializer")) variable.initializer = initializer_from(reader.at("initializer"));
    return variable;
}

std::vector<Argument> arguments_from(const JsonReader& reader) {
    std::vector<Argument> arguments;
    for (const auto& pair : reader.elements()) {
        const auto parts = pair.elements();
        if (parts.size() != 2) pair.fail("a pair of slot and variable");
        arguments.push_back({parts[0].text(), parts[1].text()});
    }
    return arguments;
}

// An empty array has no element type; that of `expected`, the operator's default, is used.
Attribute attribute_from(const JsonReader& reader, const Attribute* expected) {
    if (reader.is_text()) return reader.text();
    if (reader.is_whole()) return reader.whole();
    if (reader.is_number()) return reader.number();
    const auto elements = reader.elements();
    const bool are_whole =
        elements.empty() ? expected == nullptr || !std::holds_alternative<std::vector<double>>(*expected)
                         : elements.front().is_whole();
    if (are_whole) return reader.wholes();
    return reader.numbers();
}

Operator operator_from(const JsonReader& reader) {
    reader.expect_keys({"type", "inputs", "outputs", "attributes"});
    Operator op{reader.at("type").text(),
                arguments_from(reader.at("inputs")),
                arguments_from(reader.at("outputs")),
                {}};
    const auto* schema = program::find_schema(op.type);
    for (const auto& name : reader.at("attributes").keys()) {
        const Attribute* expected = nullptr;
        if (schema != nullptr && schema->attributes.contains(name)) expected = &schema->attributes.at(name);
        op.attributes.emplace(name, attribute_from(reader.at("attributes").at(name), expected));
    }
    return op;
}

Program program_from(const JsonReader& reader) {
    if (!reader.is_object() || !reader.has("format") || !reader.at("format").is_text() ||
        reader.at("format").text() != format_name)
        reader.fail(fmt::format("a program: an object with \"format\": \"{}\"", format_name));
    if (const auto version = reader.at("version"); version.whole() != format_version)
        version.fail(fmt::format("{}, the version that this dtrain reads", format_version));
    reader.expect_keys({"format", "version", "variables", "operators"});
    Program program;
    for (const auto& variable : reader.at("variables").elements())
        variable.check([&] { program.add(variable_from(variable)); });
    for (const auto& op : reader.at("operators").elements())
        op.check([&] { program.append(operator_from(op)); });
    return program;
}

}  // namespace

std::string program_text(const Program& program) {
    Json out{{"format", format_name}, {"version", format_version}};
    out["variables"] = Json::array();
    for (const auto& variable : program.variables()) out["variables"].push_back(json_of(variable));
    out["operators"] = Json::array();
    for (const auto& op : program.operators()) out["operators"].push_back(json_of(op));
    try {
        return out.dump(1) + "\n";
    } catch (const Json::type_error&) {
        throw UsageError("cannot write the program as text: a name in it is no UTF-8");
    }
}

Program parse_program(std::string_view text, const std::string& source) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw UsageError(
            fmt::format("{}: no JSON text: it breaks at byte {} of {}", source, error.byte, text.size()));
    } catch (const Json::out_of_range&) {
        throw UsageError(fmt::format("{}: a number in it is larger than any of 64 bits", source));
    }
    return program_from({json, source, ""});
}

void save_program(const Program& program, const std::filesystem::path& path) {
    replace_file(path, program_text(program));
}

Program load_program(const std::filesystem::path& path) {
    errno = 0;
    const auto text = std::filesystem::is_directory(path) ? std::nullopt : read_file(path);
    if (!text)
        throw UsageError(fmt::format("cannot read the program file {}: {}", path.string(),
                                     errno != 0 ? std::strerror(errno) : "it is a folder"));
    return parse_program(*text, path.string());
}

}  // namespace dtrain
