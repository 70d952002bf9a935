// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtrain {

/// The command line of a small program: options with a value, `--epochs 3`, and words.
///
///     const Arguments arguments(argc, argv, {{"--epochs", "10"}, {"--save", ""}});
///     const auto epochs = arguments.number("--epochs", 1);
///     const auto file = arguments.word(0, "digits.h5");
class Arguments {
  public:
    /// @param defaults all options, "--NAME", with the values that they have if they are not given
    /// @throws UsageError naming the option that is unknown (with all that there are) or has no value
    Arguments(int argc, const char* const* argv, std::map<std::string, std::string> defaults);

    /// The option's value. @throws Error if it is not one of `defaults`
    const std::string& text(const std::string& option) const;

    /// The option's value as an integer.
    /// @throws UsageError naming option and value if it is not a whole number of at least `min`; Error if the
    /// option is not one of `defaults`
    std::int64_t number(const std::string& option, std::int64_t min = 0) const;

    /// The word at this index among those that are neither options nor their values; `otherwise` if there are
    /// fewer.
    std::string word(std::size_t index, const std::string& otherwise) const;

  private:
    std::map<std::string, std::string> values_;
    std::vector<std::string> words_;
};

}  // namespace dtrain
