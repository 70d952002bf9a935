// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain::worker {

/// An argument of a --wrap command for one rank: %r becomes the rank, %h the host. Everything else stays, as
/// profilers have placeholders of their own; %% too, so that %%r reaches them as it is. Pure.
std::string wrapper_arg(std::string_view arg, int rank, std::string_view host);

}  // namespace dtrain::worker
