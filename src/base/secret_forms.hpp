// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

/// Recognizes secrets by their form, without a name before them. Pure.
namespace dtrain {

/// A part of a text.
struct TextSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

/// The part of a word of letters, digits, dashes, underscores and dots that is a token issued by a service:
/// GitHub's ghp_..., Hugging Face's hf_..., sk-..., AWS' AKIA..., the three parts of a JSON Web Token, and
/// the like.
std::optional<TextSpan> token_in(std::string_view word);

struct PrivateKeyBlock {
    TextSpan secret;      ///< between the first and the last line
    std::size_t end = 0;  ///< after the last line
};

/// The private key (PEM, RFC 7468; also OpenSSH's and PGP's) that begins at `at`; extends to the end of the
/// text if its last line is missing.
std::optional<PrivateKeyBlock> private_key_at(std::string_view text, std::size_t at);

/// Whether the last line of a private key begins at `at`.
bool ends_private_key(std::string_view text, std::size_t at);

/// The start of the private key lines at the end of `text`, if the key's first line was cut off; the text's
/// size if there are none.
std::size_t begin_of_key_lines(std::string_view text);

}  // namespace dtrain
