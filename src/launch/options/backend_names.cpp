// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/backend_names.hpp"

#include <algorithm>

namespace dtrain::launch {
namespace {

std::vector<std::string_view>& known() {
    static std::vector<std::string_view> names{"mpirun", "srun"};
    return names;
}

}  // namespace

std::vector<std::string_view> backend_choices() {
    auto out = known();
    std::ranges::sort(out);
    out.insert(out.begin(), "auto");
    return out;
}

void add_backend_name(std::string_view name) {
    known().push_back(name);
}

}  // namespace dtrain::launch
