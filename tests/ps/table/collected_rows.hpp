// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ps/table/row_arena.hpp"
#include "ps/table/row_changes.hpp"

namespace dtrain::tests {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Rows = std::map<std::int64_t, std::string>;  // bytes by id

/// What a snapshot gives; each row may come once.
class Collected : public ps::RowSink {
  public:
    explicit Collected(std::size_t row_bytes) : row_bytes_(row_bytes) {}

    void take(std::span<const std::byte> rows) noexcept override {
        EXPECT_EQ(rows.size() % row_bytes_, 0U);
        for (std::size_t at = 0; at < rows.size(); at += row_bytes_) {
            const auto is_new =
                rows_.emplace(ps::RowArena::id_of(&rows[at]),
                              std::string(reinterpret_cast<const char*>(&rows[at]), row_bytes_));
            EXPECT_TRUE(is_new.second) << "a row came twice";
        }
    }

    const Rows& rows() const { return rows_; }

  private:
    std::size_t row_bytes_;
    Rows rows_;
};

}  // namespace dtrain::tests
