// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// Hides secrets in everything that is shown or written. Pure.
///
/// A name is split into words at every character that is not a letter, and at the capitals of camelCase:
/// AWS_SECRET_ACCESS_KEY, --api-key, authToken. It names a secret if
/// - any word ends in password, passwd, passphrase, secret, credential, apikey or the like, or is pwd
///   (not PWD);
/// - its last word is token, key, auth, authorization, cookie or jwt, unless the word before gives it
///   another meaning (--pad_token, --sort_key), or is `pass` in a variable such as DB_PASS;
///
/// but not if its last word says that the value is about the secret (--token_type, KEY_FILE), nor if the
/// first one makes it a number or a switch (--max_token, --use_auth_token). Plurals (--max_tokens,
/// --num_keys) and longer words (--tokenizer, MONKEY) are other words. Values of switches (empty, 0, 1, true,
/// none ...) remain visible.
namespace dtrain {

inline constexpr std::string_view hidden = "***";

bool names_secret(std::string_view name);

/// The value, or *** if the name is that of a secret.
std::string redacted_value(std::string_view name, const std::string& value);

/// A command line with its secrets hidden: --api_key=***, --token ***, NAME=***, https://user:***@host, and
/// what redacted_text finds in each argument.
std::vector<std::string> redacted_arguments(const std::vector<std::string>& arguments);

/// Prose, logs and JSON with secrets hidden. Finds secrets by their names: name=value, "name": "value",
/// --name value, Authorization: Bearer value, passwords in URLs and after curl's -u, signatures of signed
/// URLs; and by their form: private keys, tokens of GitHub, Hugging Face, AWS and others. More conservative
/// than for arguments: `key` or `token` alone is a common word, and `key = ...` a common line of a program.
std::string redacted_text(std::string_view text);

/// Known secrets from an environment and a command line, to be hidden wherever they occur.
class KnownSecrets {
  public:
    KnownSecrets() = default;
    KnownSecrets(const Environment& environment, const std::vector<std::string>& arguments);

    /// The text with these secrets and those found by redacted_text hidden.
    std::string hidden_in(std::string_view text) const;

  private:
    void add(const std::string& value);

    std::vector<std::string> values_;  ///< longest first
};

}  // namespace dtrain
