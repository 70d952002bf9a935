// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transpiler/endpoints.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "identity/address.hpp"

namespace dtrain::transpiler {

void check_endpoints(const char* option, const std::string& list, const std::vector<std::string>& endpoints) {
    if (list.empty())
        throw UsageError(fmt::format("transpile: {} is empty, expected ip:port,ip:port,...", option));
    for (const auto& endpoint : endpoints)
        if (!cluster::parse_address_of(option, list, endpoint).port)
            throw UsageError(fmt::format("transpile: {} names '{}', expected ip:port", option, endpoint));
    for (auto endpoint = endpoints.begin(); endpoint != endpoints.end(); ++endpoint)
        if (std::find(endpoints.begin(), endpoint, *endpoint) != endpoint)
            throw UsageError(fmt::format("transpile: {} names {} twice", option, *endpoint));
}

}  // namespace dtrain::transpiler
