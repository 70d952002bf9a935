// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace dtrain::eager {

/// A cache of the most recently used values, at most `limit` of them.
template <class Key, class Value>
class LruCache {
  public:
    explicit LruCache(std::size_t limit) : limit_(limit) {}

    /// The key's value; created by make() if it is not cached. Valid until the next call.
    template <class Make>
    Value& get(const Key& key, const Make& make) {
        const auto found = positions_.find(key);
        if (found != positions_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return found->second->second;
        }
        entries_.emplace_front(key, make());
        positions_.emplace(key, entries_.begin());
        ++made_;
        if (entries_.size() > limit_) {
            positions_.erase(entries_.back().first);
            entries_.pop_back();
        }
        return entries_.front().second;
    }

    /// Number of calls of make().
    std::size_t made() const { return made_; }

  private:
    using Entries = std::list<std::pair<Key, Value>>;

    std::size_t limit_;
    std::size_t made_ = 0;
    Entries entries_;  // most recently used first
    std::map<Key, typename Entries::iterator> positions_;
};

}  // namespace dtrain::eager
