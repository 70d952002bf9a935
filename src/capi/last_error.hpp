// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::capi {

/// Notes the exception that is being handled as this thread's last error. @returns its dtrain_status
int note_current_exception() noexcept;

}  // namespace dtrain::capi
