// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Former header of ElementType, which is called DataType, and of Reduction. It goes with the next release.
#include <dtrain/data_type.hpp>
#include <dtrain/reduction.hpp>
