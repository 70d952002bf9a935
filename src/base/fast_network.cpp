// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/fast_network.hpp"

#include <algorithm>
#include <array>
#include <system_error>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

bool has_entries(const fs::path& folder) {
    std::error_code not_there;
    return fs::directory_iterator(folder, not_there) != fs::directory_iterator();
}

}  // namespace

bool may_have_fast_network(const fs::path& root) {
    constexpr std::array classes{"infiniband", "infiniband_verbs", "cxi", "hfi1", "kgni"};
    constexpr std::array files{"dev/hfi1", "dev/hfi1_0", "dev/ipath", "dev/ipath0", "dev/kgni0", "dev/cxi0"};
    std::error_code ignored;
    return !has_entries(root / "sys/class/net") || std::ranges::any_of(classes, [&](const char* name) {
        return has_entries(root / "sys/class" / name);
    }) || std::ranges::any_of(files, [&](const char* file) { return fs::exists(root / file, ignored); });
}

std::optional<std::string> mtl_selection(const Environment& environment, bool may_have_fast_network) {
    const bool is_the_users = std::any_of(environment.begin(), environment.end(), [](const auto& variable) {
        return variable.first.starts_with(mtl_variable) || variable.first.starts_with("OMPI_MCA_pml");
    });
    if (may_have_fast_network || is_the_users) return std::nullopt;
    return "^ofi,psm,psm2,portals4";
}

}  // namespace dtrain
