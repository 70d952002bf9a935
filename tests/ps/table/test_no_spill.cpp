// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the message, of a dtrain that was built without RocksDB.
#include <gtest/gtest.h>

#include "ps/table/sparse_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

TEST(Spill, NeedsRocksDb) {
    EXPECT_EQ(tests::message_of([] {
                  const SparseTable table({.name = "clicks", .width = 2}, SpillOptions{"/tmp", 1 << 20});
              }),
              "a limit of memory for sparse tables needs RocksDB, and this dtrain was built without: leave "
              "the limit out, or install librocksdb-dev and build it again");
}

}  // namespace
}  // namespace dtrain::ps
