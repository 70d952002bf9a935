// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/redact.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/secret_forms.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t shortest_known_secret = 6;  // shorter ones occur in any text by chance

constexpr std::array<std::string_view, 11> ends_of_secret_words{
    "password", "passwd",    "passphrase", "secret",     "secrets",    "credential",
    "apikey",   "authtoken", "accesskey",  "privatekey", "credentials"};

constexpr std::array<std::string_view, 6> secret_last_words{"token",         "key",    "auth",
                                                            "authorization", "cookie", "jwt"};

/// If a name ends in one of these words, its value is about a secret, e.g. its file or size.
constexpr std::array<std::string_view, 14> about_a_secret{"file", "path",   "dir",  "folder", "name",
                                                          "size", "length", "len",  "type",   "count",
                                                          "num",  "dim",    "kind", "format"};

constexpr std::array<std::string_view, 13> first_args_of_switches{
    "use", "no", "is", "has", "with", "num", "max", "min", "skip", "show", "n", "require", "disable"};

constexpr std::array<std::string_view, 31> before_harmless_token{
    "pad",    "eos",   "bos",      "unk",      "mask",        "sep",      "cls",        "special",
    "image",  "audio", "video",    "next",     "per",         "first",    "last",       "new",
    "blank",  "task",  "language", "modifier", "placeholder", "class",    "start",      "begin",
    "prompt", "end",   "stop",     "speech",   "single",      "instance", "initializer"};

constexpr std::array<std::string_view, 34> before_harmless_key{
    "sort",  "primary", "foreign", "group",  "partition", "cache",  "index",  "column", "field",
    "image", "img",     "label",   "text",   "caption",   "input",  "output", "target", "feature",
    "data",  "dataset", "batch",   "sample", "state",     "dict",   "loss",   "metric", "monitor",
    "score", "video",   "audio",   "prompt", "question",  "answer", "public"};

constexpr std::array<std::string_view, 10> values_of_switches{"",     "0",   "1",  "true", "false",
                                                              "none", "yes", "no", "on",   "off"};

constexpr std::array<std::string_view, 3> authorization_schemes{"bearer", "basic", "token"};

bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool one_of(std::string_view word, std::span<const std::string_view> list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

/// Splits "AWS_SECRET_ACCESS_KEY2" or "--apiKey" into lower-case words without digits.
Words words_of(std::string_view name) {
    Words words;
    bool inside = false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (!is_upper(c) && !is_lower(c)) {
            inside = false;
            continue;
        }
        const bool after_lower = i > 0 && is_lower(name[i - 1]);
        const bool before_lower = i + 1 < name.size() && is_lower(name[i + 1]);
        if (inside && is_upper(c) && (after_lower || before_lower)) inside = false;
        if (!inside) words.emplace_back();
        words.back() += lower_case(c);
        inside = true;
    }
    return words;
}

bool is_secret_word(const std::string& word) {
    return std::any_of(ends_of_secret_words.begin(), ends_of_secret_words.end(),
                       [&](std::string_view end) { return word.ends_with(end); });
}

/// A single common word such as `key`, which names a secret only if a value is clearly assigned.
bool is_common_word(const Words& words) {
    return words.size() == 1 && one_of(words.back(), secret_last_words) && !is_secret_word(words.back());
}

/// The signature of a signed URL gives access without a key.
bool names_signature(std::string_view name) {
    const auto lower = lower_case(name);
    return lower == "sig" || lower == "signature";
}

/// Whether this is an option of curl whose value, user:password, is the next word or follows '='; -su is -s
/// -u.
bool gives_login(std::string_view name) {
    if (name.starts_with("--")) return name == "--user" || name == "--proxy-user";
    return name.starts_with('-') && (name.ends_with('u') || name.ends_with('U'));
}

/// Whether this is the part of -ume:password before the colon.
bool begins_login(std::string_view name) {
    return name.starts_with('-') && !name.starts_with("--") &&
           name.find_first_of("uU") != std::string_view::npos;
}

bool is_switch_value(std::string_view value) {
    return one_of(lower_case(value), values_of_switches);
}

bool is_name_letter(char c) {
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

bool is_user(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return is_name_letter(c) || std::string_view("@+%~!$").find(c) != std::string_view::npos;
    });
}

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '\\';
}  // a backslash precedes nested quotes

/// Copies a text in one pass, hiding secrets.
class Redaction {
  public:
    explicit Redaction(std::string_view text) : text_(text) {}

    std::string run() {
        while (at_ < text_.size()) {
            if (const auto key = private_key_at(text_, at_)) {
                pass_to(key->secret.begin);
                hide_to(key->secret.end);
                pass_to(key->end);
            } else if (ends_private_key(text_, at_)) {
                pass_end_of_key();
            } else if (text_.substr(at_).starts_with("://"))
                pass_authority();
            else if (is_name_letter(text_[at_]))
                pass_name();
            else
                out_ += text_[at_++];
        }
        return std::move(out_);
    }

  private:
    void pass_to(std::size_t end) {
        out_ += text_.substr(at_, end - at_);
        at_ = end;
    }

    void hide_to(std::size_t end) {
        out_ += hidden;
        at_ = end;
    }

    /// Hides the lines before the end of a key, which belong to a key whose first line was cut off.
    void pass_end_of_key() {
        if (const auto begin = begin_of_key_lines(out_); begin < out_.size()) {
            const bool line_end = out_.ends_with('\n');
            out_.replace(begin, std::string::npos, hidden);
            if (line_end) out_ += '\n';
        }
        pass_to(at_ + 1);
        while (has(at_, '-')) pass_to(at_ + 1);
    }

    /// Hides the password of user:password@ in a URL. Web addresses have no users, so a user alone is a token
    /// there.
    void pass_authority() {
        const bool web = out_.ends_with("http") || out_.ends_with("https");
        pass_to(at_ + 3);
        const auto end = std::min(text_.find_first_of("/ \t\n\r\"'<>?#", at_), text_.size());
        auto user_end = text_.substr(0, end).rfind('@');
        if (user_end == std::string_view::npos || user_end < at_) user_end = end_of_unescaped_userinfo(end);
        if (user_end == std::string_view::npos) return;
        const auto colon = text_.substr(0, user_end).find(':', at_);
        if (colon != std::string_view::npos) pass_to(colon + 1);
        if (colon != std::string_view::npos || web) hide_to(user_end);
    }

    /// The end of user:password@ if the password contains an unescaped / ? or #, as some libraries allow.
    /// host:80/a@b and [::1]:80/a@b have no user.
    std::size_t end_of_unescaped_userinfo(std::size_t authority_end) const {
        const auto none = std::string_view::npos;
        const auto authority = text_.substr(at_, authority_end - at_);
        const auto colon = authority.find(':');
        if (colon == none || !is_user(authority.substr(0, colon))) return none;
        const auto port = authority.substr(colon + 1);
        if (std::all_of(port.begin(), port.end(), is_digit) && !port.empty()) return none;
        const auto word_end = std::min(text_.find_first_of(" \t\n\r\"'<>", at_), text_.size());
        const auto user_end = text_.substr(0, word_end).rfind('@');
        return user_end == none || user_end < at_ ? none : user_end;
    }

    void pass_name() {
        auto end = at_;
        while (end < text_.size() && is_name_letter(text_[end])) ++end;
        const auto name = text_.substr(at_, end - at_);
        const bool quoted = at_ > 0 && is_quote(text_[at_ - 1]);
        const bool in_query = at_ > 0 && (text_[at_ - 1] == '?' || text_[at_ - 1] == '&');
        if (const auto token = token_in(name)) {
            const auto begin = at_;
            pass_to(begin + token->begin);
            hide_to(begin + token->end);
            return;
        }
        pass_to(end);
        if ((gives_login(name) || begins_login(name)) && line_has_curl()) return pass_login(name);
        if (!names_secret(name) && !(in_query && names_signature(name))) return;
        const auto value = value_behind(name, quoted);
        if (!value || is_switch_value(text_.substr(value->begin, value->end - value->begin))) return;
        pass_to(value->begin);
        hide_to(value->end);
    }

    /// Whether the line so far calls curl; only for curl is -u a login.
    bool line_has_curl() const {
        const auto line = std::string_view(out_).substr(out_.rfind('\n') + 1);
        for (auto at = line.find("curl"); at != std::string_view::npos; at = line.find("curl", at + 1)) {
            const auto behind = at + std::string_view("curl").size();
            if ((at == 0 || !is_name_letter(line[at - 1])) &&
                (behind == line.size() || !is_name_letter(line[behind])))
                return true;
        }
        return false;
    }

    /// "-u user:password", as two words or one.
    void pass_login(std::string_view name) {
        std::optional<TextSpan> value;
        if (has(at_, ':') && begins_login(name))
            value = TextSpan{at_, at_};
        else if (gives_login(name))
            value = value_behind(name, is_quote_before(name));
        if (!value) return;
        const bool in_quotes = value->begin > 0 && is_quote(text_[value->begin - 1]);
        const auto end =
            std::min(text_.find_first_of(in_quotes ? "\"'\\\n" : " \t\n\r\"'", value->begin), text_.size());
        const auto colon = text_.substr(0, end).find(':', value->begin);
        if (colon == std::string_view::npos || colon + 1 == end) return;
        const auto user = text_.substr(value->begin, colon - value->begin);
        if (!is_user(user)) return;
        pass_to(colon + 1);
        hide_to(end);
    }

    bool is_quote_before(std::string_view name) const {
        return at_ > name.size() && is_quote(text_[at_ - name.size() - 1]);
    }

    std::size_t skip(std::size_t from, bool (*what)(char)) const {
        while (from < text_.size() && what(text_[from])) ++from;
        return from;
    }

    bool has(std::size_t at, char letter) const { return at < text_.size() && text_[at] == letter; }

    std::optional<TextSpan> value_behind(std::string_view name, bool quoted) const {
        const bool option = name.starts_with('-');
        const auto name_end = quoted ? skip(at_, is_quote) : at_;
        const auto separator = skip(name_end, is_blank);
        std::size_t begin = 0;
        if ((has(separator, '=') && !has(separator + 1, '=')) ||
            (has(separator, ':') && !has(separator + 1, '/'))) {
            begin = skip(separator + 1, is_blank);
            const bool spaced = begin != name_end + 1;
            const auto words = words_of(name);
            if (!option && is_common_word(words) && words.back() != "authorization" &&
                (words.back() == "key" || (spaced && !quoted)))
                return std::nullopt;
        } else if (option && (separator > at_ || has(separator, ','))) {
            begin = skip(skip(separator, [](char c) { return is_blank(c) || c == ','; }), is_quote);
            if (has(begin, '-')) return std::nullopt;
        } else {
            return std::nullopt;
        }
        return value_at(begin);
    }

    std::optional<TextSpan> value_at(std::size_t begin) const {
        const auto open = begin;
        begin = skip(begin, is_quote);
        TextSpan value{begin, begin};
        const auto key = private_key_at(text_, begin);
        const auto min_end = key ? key->end : begin;
        const bool in_quotes = begin > open || (open > 0 && is_quote(text_[open - 1]));
        value.end =
            in_quotes ? std::min(text_.find_first_of("\"'\\\n", min_end), text_.size()) : word_end(min_end);
        for (const auto scheme : authorization_schemes)
            if (lower_case(text_.substr(begin, scheme.size() + 1)) == std::string(scheme) + " ") {
                value.begin = skip(begin + scheme.size(), is_blank);
                if (!in_quotes) value.end = word_end(value.begin);
            }
        if (value.begin >= value.end) return std::nullopt;
        return value;
    }

    std::size_t word_end(std::size_t begin) const {
        return std::min(text_.find_first_of(" \t\n\r,;&)]}\"'", begin), text_.size());
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
};

struct Assignment {
    std::string name;
    std::string value;
};

std::optional<Assignment> assignment_in(const std::string& word) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) return std::nullopt;
    return Assignment{word.substr(0, equals), word.substr(equals + 1)};
}

bool is_secret(const Assignment& given) {
    return names_secret(given.name) && !is_switch_value(given.value) &&
           std::all_of(given.name.begin(), given.name.end(),
                       [](char c) { return is_name_letter(c) || c == '+' || c == '/'; });
}

/// Whether the word is an option whose value is the next word and a secret.
bool gives_secret(const std::string& word, const std::string& next) {
    return word.starts_with('-') && word.find('=') == std::string::npos && names_secret(word) &&
           !next.starts_with('-') && !is_switch_value(next);
}

/// The password in a command line that calls curl, after -u as two words or one.
std::optional<TextSpan> password_for_curl(const std::vector<std::string>& words, std::size_t at) {
    const auto is_curl = [](std::string_view word) { return word.substr(word.rfind('/') + 1) == "curl"; };
    const auto current = words.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == 0 || std::none_of(words.begin(), current, is_curl)) return std::nullopt;
    const std::string_view word = words[at];
    const bool in_one_word = begins_login(word.substr(0, word.find(':'))) ||
                             (word.starts_with("--") && gives_login(word.substr(0, word.find('='))));
    if (!in_one_word && !gives_login(words[at - 1])) return std::nullopt;
    const auto colon = word.find(':');
    if (colon == std::string_view::npos || colon + 1 == word.size()) return std::nullopt;
    return TextSpan{colon + 1, word.size()};
}

}  // namespace

bool names_secret(std::string_view name) {
    if (name == "PWD" || name == "OLDPWD") return false;
    const auto words = words_of(name);
    if (words.empty()) return false;
    const auto& last = words.back();
    const std::string_view before = words.size() > 1 ? std::string_view(words[words.size() - 2]) : "";
    if (one_of(last, about_a_secret) || (words.size() > 1 && one_of(words.front(), first_args_of_switches)))
        return false;
    if (std::any_of(words.begin(), words.end(),
                    [](const auto& word) { return is_secret_word(word) || word == "pwd"; }))
        return true;
    if (last == "pass") return words.size() > 1 && std::none_of(name.begin(), name.end(), is_lower);
    if (last == "id") return before == "key" && words.size() > 2 && words[words.size() - 3] == "access";
    if (last == "signature") return before == "amz" || before == "goog" || before == "access";
    if (last == "token") return !one_of(before, before_harmless_token);
    if (last == "key") return !one_of(before, before_harmless_key);
    return one_of(last, secret_last_words);
}

std::string redacted_value(std::string_view name, const std::string& value) {
    return names_secret(name) && !is_switch_value(value) ? std::string(hidden) : redacted_text(value);
}

std::vector<std::string> redacted_arguments(const std::vector<std::string>& arguments) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto given = assignment_in(arguments[i]);
        if (i > 0 && gives_secret(arguments[i - 1], arguments[i]))
            out.emplace_back(hidden);
        else if (const auto password = password_for_curl(arguments, i))
            out.push_back(arguments[i].substr(0, password->begin) + std::string(hidden));
        else if (given && is_secret(*given))
            out.push_back(given->name + "=" + std::string(hidden));
        else
            out.push_back(redacted_text(arguments[i]));
    }
    return out;
}

std::string redacted_text(std::string_view text) {
    return Redaction(text).run();
}

KnownSecrets::KnownSecrets(const Environment& environment, const std::vector<std::string>& arguments) {
    for (const auto& [name, value] : environment)
        if (names_secret(name)) add(value);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto given = assignment_in(arguments[i]);
        if (given && is_secret(*given)) add(given->value);
        if (i > 0 && gives_secret(arguments[i - 1], arguments[i])) add(arguments[i]);
        if (const auto password = password_for_curl(arguments, i)) add(arguments[i].substr(password->begin));
    }
    std::sort(values_.begin(), values_.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

void KnownSecrets::add(const std::string& value) {
    if (value.size() >= shortest_known_secret && !is_switch_value(value)) values_.push_back(value);
}

std::string KnownSecrets::hidden_in(std::string_view text) const {
    std::string out(text);
    for (const auto& value : values_)
        for (auto at = out.find(value); at != std::string::npos; at = out.find(value, at + hidden.size()))
            out.replace(at, value.size(), hidden);
    return redacted_text(out);
}

}  // namespace dtrain
