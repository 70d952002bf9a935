// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// Keeps secrets out of whatever is shown or written down. Pure.
///
/// A name is taken apart into words at everything that is no letter, at digits and where camelCase has a
/// capital: AWS_SECRET_ACCESS_KEY, --api-key, authToken. It names a secret when
/// - any word ends in password, passwd, passphrase, secret, credential or apikey and the like, or is pwd (not
/// PWD);
/// - its last word is token, key, auth, authorization, cookie or jwt, unless the word before says what else
/// is meant
///   (--pad_token, --sort_key), or is `pass` in a variable such as DB_PASS;
/// but not when its last word says that the value is about the secret (--token_type, KEY_FILE), nor when the
/// first one makes it a number or a switch (--max_token, --use_auth_token). Plurals (--max_tokens,
/// --num_keys) and longer words
/// (--tokenizer, MONKEY) are other words. Switches' values (empty, 0, 1, true, none ...) stay to be seen.
namespace dtrain {

inline constexpr std::string_view hidden = "***";

bool names_secret(std::string_view name);

/// The value, or *** when the name says that it is a secret.
std::string redacted_value(std::string_view name, const std::string& value);

/// A command line with its secrets hidden: --api_key=***, --token ***, NAME=***, https://user:***@host, and
/// what redacted_text finds in each word.
std::vector<std::string> redacted_arguments(const std::vector<std::string>& arguments);

/// Prose, logs and JSON with the secrets hidden that stand behind a name: name=value, "name": "value", --name
/// value, Authorization: Bearer value, passwords in URLs and behind curl's -u, signatures of signed URLs; and
/// those that are known by their form: private keys, tokens of GitHub, Hugging Face, AWS and others. More
/// careful than for arguments: `key` or `token` alone is a common word, and `key = ...` a common line of a
/// program.
std::string redacted_text(std::string_view text);

/// The secrets themselves, known from an environment and a command line, to be hidden wherever they turn up.
class KnownSecrets {
  public:
    KnownSecrets() = default;
    KnownSecrets(const Environment& environment, const std::vector<std::string>& arguments);

    /// The text without them and without what redacted_text finds.
    std::string hidden_in(std::string_view text) const;

  private:
    void add(const std::string& value);

    std::vector<std::string> values_;  ///< the longest first
};

}  // namespace dtrain
