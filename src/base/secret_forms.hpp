// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

/// Secrets that are known by their form, whatever stands before them. Pure.
namespace dtrain {

/// A part of a text.
struct TextSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

/// Where a word of letters, digits, dashes, underscores and dots has a token that a service gives out:
/// GitHub's ghp_..., Hugging Face's hf_..., sk-..., AWS' AKIA..., three parts of a JSON Web Token, and the
/// like.
std::optional<TextSpan> token_in(std::string_view word);

struct PrivateKeyBlock {
    TextSpan secret;      ///< between its first and its last line
    std::size_t end = 0;  ///< behind its last line
};

/// The private key (PEM, RFC 7468; OpenSSH's and PGP's too) that begins at `at`; it goes to the end of the
/// text where its last line is missing.
std::optional<PrivateKeyBlock> private_key_at(std::string_view text, std::size_t at);

/// Whether the last line of a private key begins at `at`.
bool ends_private_key(std::string_view text, std::size_t at);

/// Where lines of a private key begin that `text` ends with, its first line being cut off; the text's size
/// for none.
std::size_t begin_of_key_lines(std::string_view text);

}  // namespace dtrain
