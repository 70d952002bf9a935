// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/shell_words.hpp"

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

    std::vector<std::string> words() {
        while (!at_end()) take(next());
        if (word_) words_.push_back(*word_);
        return std::move(words_);
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char next() { return text_[at_++]; }
    std::string& word() { return word_ ? *word_ : word_.emplace(); }

    void take(char letter) {
        if (blanks.find(letter) != std::string_view::npos) {
            if (word_) words_.push_back(*word_);
            word_.reset();
        } else if (letter == '\\') {
            take_escaped("");
        } else if (letter == '\'' || letter == '"') {
            take_quoted(letter);
        } else {
            word() += letter;
        }
    }

    void take_quoted(char quote) {
        word();  // '' is a word
        while (!at_end()) {
            const char letter = next();
            if (letter == quote) return;
            if (letter == '\\' && quote == '"')
                take_escaped(escapable_in_double_quotes);
            else
                word() += letter;
        }
        throw UsageError(fmt::format("the quote {} in \"{}\" is not closed", quote, text_));
    }

    /// @param escapable before others the backslash stays; empty: it stays before none
    void take_escaped(std::string_view escapable) {
        if (at_end()) throw UsageError(fmt::format("nothing follows the last backslash of \"{}\"", text_));
        const char letter = next();
        if (letter == '\n') return;  // the line goes on
        if (!escapable.empty() && escapable.find(letter) == std::string_view::npos) word() += '\\';
        word() += letter;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::string> words_;
    std::optional<std::string> word_;
};

}  // namespace

std::vector<std::string> shell_words(std::string_view text) {
    return Splitter(text).words();
}

std::string shell_quoted(std::string_view word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string out = "'";
    for (const char letter : word) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const auto& word : words) quoted.push_back(shell_quoted(word));
    return join(quoted, " ");
}

}  // namespace dtrain
