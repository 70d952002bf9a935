// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "way_of_averages.hpp"

namespace dtrain::nn {

const bool averages_by_nccl = false;

}  // namespace dtrain::nn
