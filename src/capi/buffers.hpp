// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::capi {

/// Gives up all memory of dtrain_allocate(): their communicators can be freed then.
void free_all_buffers();

}  // namespace dtrain::capi
