// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pthread.h>
#include <vector>

namespace dtrain::gpu {

/// The same interface as on a GPU (cuda/block.hpp), with CPU threads.
class Block {
  public:
    struct Team {
        explicit Team(unsigned threads) : values(threads) {
            ::pthread_barrier_init(&barrier, nullptr, threads);
        }
        ~Team() { ::pthread_barrier_destroy(&barrier); }
        Team(const Team&) = delete;
        Team& operator=(const Team&) = delete;

        std::vector<const void*> values;
        pthread_barrier_t barrier{};  // a sleeping barrier: std::barrier yields first, which is slow with
                                      // more threads than processors
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

    template <class Value>
    Value of_first(const Value& value) const {
        return together(value, [](const Value& first, const Value& /*other*/) { return first; });
    }

    void wait() const {
        if (threads() > 1) ::pthread_barrier_wait(&team_->barrier);
    }

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
