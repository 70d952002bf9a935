// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <vector>

namespace dtrain::gpu {

/// As on a GPU (cuda/block.hpp), of threads of this processor.
class Block {
  public:
    struct Team {
        explicit Team(unsigned threads) : values(threads), barrier(threads) {}

        std::vector<const void*> values;
        std::barrier<> barrier;
    };

    Block(unsigned number, unsigned thread, Team& team) : number_(number), thread_(thread), team_(&team) {}

    unsigned number() const { return number_; }
    unsigned thread() const { return thread_; }
    unsigned threads() const { return static_cast<unsigned>(team_->values.size()); }

    template <class Value>
    Value sum(Value value) const {
        return together(value, [](Value a, Value b) { return a + b; });
    }

    template <class Value>
    Value max(Value value) const {
        return together(value, [](Value a, Value b) { return std::max(a, b); });
    }

    void wait() const { team_->barrier.arrive_and_wait(); }

  private:
    template <class Value, class Combine>
    Value together(const Value& value, const Combine& combine) const {
        team_->values[thread_] = &value;
        wait();
        auto all = *static_cast<const Value*>(team_->values[0]);
        for (std::size_t i = 1; i < team_->values.size(); ++i)
            all = combine(all, *static_cast<const Value*>(team_->values[i]));
        wait();
        return all;
    }

    unsigned number_;
    unsigned thread_;
    Team* team_;
};

}  // namespace dtrain::gpu
