// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/data_type.hpp>

namespace dtrain::capi {

/// Of a ::dtrain_type. @throws UsageError if there is none such
DataType element_of(int type);

/// Of a ::dtrain_reduction. @throws UsageError if there is none such
Reduction reduction_of(int reduction);

}  // namespace dtrain::capi
