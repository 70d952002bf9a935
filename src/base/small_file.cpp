// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/small_file.hpp"

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {

std::string trimmed_content(const std::filesystem::path& file) {
    return std::string(trimmed(read_file(file).value_or("")));
}

}  // namespace dtrain
