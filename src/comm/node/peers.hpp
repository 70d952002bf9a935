// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include <dtrain/communicator.hpp>

namespace dtrain::comm {

/// The ranks of a node while they set up what they share: they exchange a few bytes. All calls are
/// collective.
class Peers {
  public:
    virtual ~Peers() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// One value per rank, in rank order.
    template <class T>
    requires std::is_trivially_copyable_v<T> std::vector<T> all_gather(const T& mine)
    const {
        std::vector<T> all(static_cast<std::size_t>(size()));
        exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
        return all;
    }

    /// True on all ranks if it is on each.
    bool all(bool value) const {
        const auto values = all_gather(char{value});
        return std::ranges::all_of(values, [](char of_rank) { return of_rank != 0; });
    }

  private:
    /// @param all a block for each rank of the length of `mine`, which is the same on all ranks
    virtual void exchange(std::span<const std::byte> mine, std::span<std::byte> all) const = 0;
};

/// Over an MPI communicator of the node's ranks, which the caller keeps.
class MpiPeers final : public Peers {
  public:
    /// @throws MpiError
    explicit MpiPeers(MPI_Comm node);
    int rank() const override { return rank_; }
    int size() const override { return size_; }

  private:
    void exchange(std::span<const std::byte> mine, std::span<std::byte> all) const override;

    MPI_Comm node_;
    int rank_ = 0;
    int size_ = 1;
};

/// Over a communicator whose ranks are on one node.
class CommunicatorPeers final : public Peers {
  public:
    explicit CommunicatorPeers(Communicator ranks) : ranks_(std::move(ranks)) {}
    int rank() const override { return ranks_.rank(); }
    int size() const override { return ranks_.size(); }

  private:
    void exchange(std::span<const std::byte> mine, std::span<std::byte> all) const override {
        ranks_.all_gather(mine, all);
    }

    Communicator ranks_;
};

}  // namespace dtrain::comm
