// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// captured_environments.txt: the environments of a real job's ranks by the job's name.
const std::map<std::string, std::map<int, Environment>>& captured_environments();

}  // namespace dtrain::cluster
