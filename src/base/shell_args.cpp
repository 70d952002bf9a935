// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/shell_args.hpp"

#include <optional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr std::string_view blanks = " \t\n";
constexpr std::string_view escapable_in_double_quotes = "$`\"\\";

class Splitter {
  public:
    explicit Splitter(std::string_view text) : text_(text) {}

    std::vector<std::string> args() {
        while (!at_end()) take(next());
        if (arg_) args_.push_back(*arg_);
        return std::move(args_);
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char next() { return text_[at_++]; }
    std::string& arg() { return arg_ ? *arg_ : arg_.emplace(); }

    void take(char letter) {
        if (blanks.find(letter) != std::string_view::npos) {
            if (arg_) args_.push_back(*arg_);
            arg_.reset();
        } else if (letter == '\\') {
            take_escaped("");
        } else if (letter == '\'' || letter == '"') {
            take_quoted(letter);
        } else {
            arg() += letter;
        }
    }

    void take_quoted(char quote) {
        arg();  // '' is an argument
        while (!at_end()) {
            const char letter = next();
            if (letter == quote) return;
            if (letter == '\\' && quote == '"')
                take_escaped(escapable_in_double_quotes);
            else
                arg() += letter;
        }
        throw UsageError(fmt::format("the quote {} in \"{}\" is not closed", quote, text_));
    }

    /// @param escapable the backslash is removed only before these; empty: before any character
    void take_escaped(std::string_view escapable) {
        if (at_end()) throw UsageError(fmt::format("nothing follows the last backslash of \"{}\"", text_));
        const char letter = next();
        if (letter == '\n') return;  // line continuation
        if (!escapable.empty() && escapable.find(letter) == std::string_view::npos) arg() += '\\';
        arg() += letter;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::string> args_;
    std::optional<std::string> arg_;
};

}  // namespace

std::vector<std::string> shell_args(std::string_view text) {
    return Splitter(text).args();
}

std::string shell_quoted(std::string_view arg) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
    if (!arg.empty() && arg.find_first_not_of(plain) == std::string_view::npos) return std::string(arg);
    std::string out = "'";
    for (const char letter : arg) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return out + "'";
}

std::string shell_line(const std::vector<std::string>& args) {
    std::vector<std::string> quoted;
    for (const auto& arg : args) quoted.push_back(shell_quoted(arg));
    return join(quoted, " ");
}

}  // namespace dtrain
