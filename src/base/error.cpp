// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {

Error::Error(const std::string& message) : std::runtime_error(one_line(message)) {}

}  // namespace dtrain
