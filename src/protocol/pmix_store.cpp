// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/pmix_store.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace dtrain::cluster {

void choose_pmix_store(Environment& environment) {
    if (environment.has("PMIX_MCA_gds") || !environment.get_or("PMIX_NAMESPACE", "").starts_with("slurm."))
        return;
    const auto stores = split(environment.get_or("PMIX_GDS_MODULE", ""), ',');
    const auto offers = [&](const char* store) {
        return std::find(stores.begin(), stores.end(), store) != stores.end();
    };
    if (offers("hash") && (offers("ds21") || offers("ds12"))) environment.set("PMIX_MCA_gds", "hash");
}

}  // namespace dtrain::cluster
