// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <dtrain/error.hpp>

namespace dtrain::tests {

/// Matches a call that throws a UsageError: one line that has all of these texts.
template <class... Texts>
auto refuses(const Texts&... texts) {
    return testing::ThrowsMessage<UsageError>(
        testing::AllOf(testing::HasSubstr(texts)..., testing::Not(testing::HasSubstr("\n"))));
}

}  // namespace dtrain::tests
