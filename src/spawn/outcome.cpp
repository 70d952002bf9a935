// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/outcome.hpp"

namespace dtrain {

void SpawnValue<spawning::CallState>::write(const spawning::CallState& call, std::string& bytes) {
    Fields fields{call.nprocs, call.refused, call.outcome.has_value(), {}, {}};
    if (call.outcome) {
        if (const auto* failure = std::get_if<spawning::Failure>(&*call.outcome))
            std::get<4>(fields).emplace(failure->rank, failure->message);
        else
            std::get<3>(fields) = std::get<spawning::Results>(*call.outcome);
    }
    SpawnValue<Fields>::write(fields, bytes);
}

spawning::CallState SpawnValue<spawning::CallState>::read(SpawnBytes& bytes) {
    auto [nprocs, refused, has_ended, results, failure] = SpawnValue<Fields>::read(bytes);
    spawning::CallState call{nprocs, std::move(refused), {}};
    if (failure)
        call.outcome = spawning::Failure{failure->first, std::move(failure->second)};
    else if (has_ended)
        call.outcome = std::move(results);
    return call;
}

}  // namespace dtrain
