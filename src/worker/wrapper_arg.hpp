// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain::worker {

/// Expands an argument of a --wrap command for one rank: %r becomes the rank, %h the host. Everything else
/// stays, since profilers have placeholders of their own; so does %%, so that they receive %%r unchanged.
/// Pure.
std::string wrapper_arg(std::string_view arg, int rank, std::string_view host);

}  // namespace dtrain::worker
