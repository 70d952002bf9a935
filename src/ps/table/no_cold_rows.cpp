// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.hpp>

#include "ps/table/cold_rows.hpp"

namespace dtrain::ps {

std::unique_ptr<ColdRows> open_cold_rows(const SpillOptions& /*options*/, std::size_t /*row_bytes*/) {
    throw UsageError(
        "a limit of memory for sparse tables needs RocksDB, and this dtrain was built without: leave the "
        "limit "
        "out, or install librocksdb-dev and build it again");
}

}  // namespace dtrain::ps
