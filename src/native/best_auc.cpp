// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/best_auc.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::native {

std::optional<double> best_auc_of(const std::filesystem::path& log) {
    const std::filesystem::path file(log.string() + ".json");
    const auto text = read_file(file);
    if (!text) return std::nullopt;
    const auto info = nlohmann::json::parse(*text, nullptr, false);
    const auto best = info.is_object() ? info.find("best_auc") : info.end();
    if (best == info.end() || !best->is_number() || !(best->get<double>() >= 0 && best->get<double>() <= 1))
        throw UsageError(
            fmt::format("{}: it has no \"best_auc\" from 0 to 1; repair or delete it", file.string()));
    return best->get<double>();
}

}  // namespace dtrain::native
