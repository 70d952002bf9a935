// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dtrain/comm_error.hpp>
#include <dtrain/data_type.hpp>
#include <dtrain/detail/comm_call.hpp>
#include <dtrain/error.hpp>
#include <dtrain/request.hpp>
#include <dtrain/shared_buffer.hpp>

namespace dtrain {

namespace detail {
struct CommunicatorAccess;
}

/// A group of ranks that exchange data. A value type: copies share one underlying communicator. A
/// default-constructed communicator is a world of one rank that never calls MPI.
///
/// All operations except messages (send, receive, receive_any) are collective: all ranks call them in the
/// same order and with the same lengths. If ranks of one node do not, all of them throw an Error that says
/// so. A reduction gives the same bits on every rank and in every run for a given length, number of ranks and
/// ranks per node; within a node, ranks are added in rank order. start_...() returns at once and the
/// operation progresses as described at Request. All operations throw MpiError, and CommunicatorTimeout if a
/// rank does not take part in time. Only one thread of a process may use its communicators.
class Communicator {
  public:
    /// A world of one rank.
    Communicator();
    /// For the library's own use.
    explicit Communicator(std::shared_ptr<CommunicatorBackend> backend) : backend_(std::move(backend)) {}

    /// Number of this rank, from 0.
    int rank() const;
    /// Number of ranks.
    int size() const;

    int node_rank() const;  ///< among the ranks of this node
    int node_size() const;  ///< number of ranks on this node
    int nodes() const;      ///< number of nodes over all ranks

    /// Returns when all ranks have entered the barrier.
    void barrier() const;
    /// barrier() that returns at once: the request is complete when all ranks have entered.
    [[nodiscard]] Request start_barrier() const;

    /// Reduces element by element over ranks, in place.
    template <Reducible T>
    void allreduce(std::span<T> buffer, Reduction reduction = Reduction::sum) const {
        run(in_place(buffer, reduction));
    }
    /// allreduce() that returns at once.
    template <Reducible T>
    [[nodiscard]] Request start_allreduce(std::span<T> buffer, Reduction reduction = Reduction::sum) const {
        return start(in_place(buffer, reduction));
    }

    /// allreduce() with Reduction::sum.
    void allreduce_sum(std::span<float> buffer) const { allreduce(buffer); }
    /// allreduce() with Reduction::sum.
    void allreduce_sum(std::span<double> buffer) const { allreduce(buffer); }
    /// allreduce() with Reduction::sum.
    void allreduce_sum(std::span<std::int64_t> buffer) const { allreduce(buffer); }
    /// allreduce_sum() that returns at once.
    [[nodiscard]] Request start_allreduce_sum(std::span<float> buffer) const {
        return start_allreduce(buffer);
    }

    /// Reduces `in`, which consists of size() blocks of the length of `out`; rank r receives block r in
    /// `out`, which must not overlap `in`. @throws Error if the lengths do not match
    template <Reducible T>
    void reduce_scatter(std::span<const T> in, std::span<T> out, Reduction reduction = Reduction::sum) const {
        run(scattered(in, out, reduction));
    }
    /// reduce_scatter() that returns at once.
    template <Reducible T>
    [[nodiscard]] Request start_reduce_scatter(std::span<const T> in, std::span<T> out,
                                               Reduction reduction = Reduction::sum) const {
        return start(scattered(in, out, reduction));
    }

    /// Reduces over all ranks and passes each rank of a node its shard of the result, piece by piece while
    /// the piece is still in the cache: use(first, values) receives elements [first, first + values.size())
    /// of the result. The shards of a node's ranks together cover the buffer exactly once (see shard()).
    /// Returns when all ranks of the node have used their shards: what they wrote into one copy of the
    /// parameters in a SharedBuffer is then visible to all of them. The contents of `buffer` are unspecified
    /// afterwards. Does not return while a rank's `use` runs; if `use` throws, the other ranks keep waiting:
    /// end the job in that case.
    template <Reducible T, class Use>
    requires std::is_invocable_v<Use, std::size_t, std::span<T>>
    void reduce_shards(std::span<T> buffer, Use use, Reduction reduction = Reduction::sum) const {
        auto call = in_place(buffer, reduction);
        call.operation = detail::Operation::reduce_shards;
        call.use = [&use](std::size_t first, std::span<std::byte> sums) {
            use(first / sizeof(T), std::span(reinterpret_cast<T*>(sums.data()), sums.size() / sizeof(T)));
        };
        run(call);
    }

    /// The part of `count` elements of type T that reduce_shards() passes to this rank: always the same for
    /// the same count and type.
    struct Shard {
        std::size_t first = 0;  ///< index of its first element
        std::size_t count = 0;  ///< number of its elements
    };
    /// @param count elements of the whole buffer
    template <Reducible T>
    Shard shard(std::size_t count) const {
        return shard_of_bytes(count * sizeof(T), sizeof(T));
    }

    /// reduce_shards()
    template <Reducible T, class Use>
    [[deprecated("it is called reduce_shards")]] void reduce_shares(
        std::span<T> buffer, Use use, Reduction reduction = Reduction::sum) const {
        reduce_shards(buffer, std::move(use), reduction);
    }
    /// Shard
    using Share [[deprecated("it is called Shard")]] = Shard;
    /// shard()
    template <Reducible T>
    [[deprecated("it is called shard")]] Shard share(std::size_t count) const {
        return shard<T>(count);
    }

    /// Gathers all ranks' blocks in rank order. `all` is size() blocks of the length of `mine`.
    /// @throws Error if the lengths do not match
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void all_gather(std::span<const T> mine, std::span<T> all) const {
        run(moved(detail::Operation::all_gather, std::as_bytes(mine), std::as_writable_bytes(all)));
    }
    /// all_gather() that returns at once.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_all_gather(std::span<const T> mine, std::span<T> all) const {
        return start(moved(detail::Operation::all_gather, std::as_bytes(mine), std::as_writable_bytes(all)));
    }

    /// `out` and `in` are each size() blocks of one length: block r of `out` goes to rank r, block r of `in`
    /// comes from rank r. They must not overlap. @throws Error if the lengths do not match
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void all_to_all(std::span<const T> out, std::span<T> in) const {
        run(moved(detail::Operation::all_to_all, std::as_bytes(out), std::as_writable_bytes(in)));
    }
    /// all_to_all() that returns at once.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_all_to_all(std::span<const T> out, std::span<T> in) const {
        return start(moved(detail::Operation::all_to_all, std::as_bytes(out), std::as_writable_bytes(in)));
    }

    /// Like all_to_all() with blocks of different lengths; counts are in elements, by rank, and the blocks
    /// are contiguous. The count that rank a sends to rank b must equal the count that b receives from a.
    /// @throws Error if the lengths do not match
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void all_to_allv(std::span<const T> out, std::span<const std::size_t> out_counts, std::span<T> in,
                     std::span<const std::size_t> in_counts) const {
        start_all_to_allv(out, out_counts, in, in_counts).wait();
    }
    /// all_to_allv() that returns at once.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_all_to_allv(std::span<const T> out, std::span<const std::size_t> out_counts,
                                            std::span<T> in, std::span<const std::size_t> in_counts) const {
        return start_exchange(std::as_bytes(out), out_counts, std::as_writable_bytes(in), in_counts,
                              sizeof(T));
    }

    /// Point-to-point messages: the lengths on both sides are equal; tags are from 0 to 32767. Messages
    /// between two ranks with the same tag arrive in order. @throws Error if the rank or tag does not exist
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void send(std::span<const T> values, int to, int tag = 0) const { start_send(values, to, tag).wait(); }
    /// send() that returns at once; `values` must stay until the request is complete.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_send(std::span<const T> values, int to, int tag = 0) const {
        return start_message(detail::Operation::send, std::as_bytes(values), {}, to, tag);
    }
    /// Waits for a message of this length. @throws Error if the rank or tag does not exist
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void receive(std::span<T> values, int from, int tag = 0) const {
        start_receive(values, from, tag).wait();
    }
    /// receive() that returns at once.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_receive(std::span<T> values, int from, int tag = 0) const {
        return start_message(detail::Operation::receive, {}, std::as_writable_bytes(values), from, tag);
    }

    /// Waits for a message of this length and tag from any rank. Returns the rank of the sender.
    /// @throws Error if the tag does not exist
    template <class T>
    requires std::is_trivially_copyable_v<T>
    int receive_any(std::span<T> values, int tag = 0) const {
        int from = -1;
        start_receive_any(values, from, tag).wait();
        return from;
    }
    /// receive_any() that returns at once. `from` gets the rank of the sender when the request is complete,
    /// and must stay until then, as `values`. While one is under way, start no receive() with its tag: which
    /// of them gets a message is not specified.
    template <class T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] Request start_receive_any(std::span<T> values, int& from, int tag = 0) const {
        return start_from_any(std::as_writable_bytes(values), from, tag);
    }

    /// Sum, maximum or minimum of one value per rank.
    double sum(double value) const { return reduced(value, Reduction::sum); }
    /// Sum of one value per rank.
    std::int64_t sum(std::int64_t value) const { return reduced(value, Reduction::sum); }
    /// Maximum of one value per rank.
    std::int64_t max(std::int64_t value) const { return reduced(value, Reduction::max); }
    /// Maximum of one value per rank.
    double max(double value) const { return reduced(value, Reduction::max); }
    /// Minimum of one value per rank.
    std::int64_t min(std::int64_t value) const { return reduced(value, Reduction::min); }

    /// True on all ranks if `value` is true on every rank.
    bool all(bool value) const { return min(std::int64_t{value}) != 0; }

    /// True on all ranks if all of them pass the same value.
    bool all_have(std::int64_t value) const {
        const auto lowest = min(value);
        return max(value) == lowest;
    }

    /// Sends root's bytes to all ranks; the length is the same on every rank.
    void broadcast(std::span<std::byte> buffer, int root = 0) const;
    /// broadcast() that returns at once.
    [[nodiscard]] Request start_broadcast(std::span<std::byte> buffer, int root = 0) const;

    /// Sends root's elements to all ranks; the length is the same on every rank.
    template <class Element>
    requires(std::is_trivially_copyable_v<Element> && !std::is_const_v<Element> &&
             !std::is_same_v<Element, std::byte>) void broadcast(std::span<Element> buffer,
                                                                 int root = 0) const {
        broadcast(std::as_writable_bytes(buffer), root);
    }

    /// Returns root's text on all ranks.
    std::string broadcast(const std::string& text, int root = 0) const;

    /// Returns every rank's text, in rank order.
    std::vector<std::string> all_gather(const std::string& text) const;

    /// Returns every rank's value, in rank order.
    std::vector<std::int64_t> all_gather(std::int64_t value) const;

    /// all_gather()
    [[deprecated("it is called all_gather")]] std::vector<std::string> allgather(
        const std::string& text) const {
        return all_gather(text);
    }
    /// all_gather()
    [[deprecated("it is called all_gather")]] std::vector<std::int64_t> allgather(std::int64_t value) const {
        return all_gather(value);
    }

    /// How long operations of this communicator wait for other ranks, from now on; 0: without limit. At first
    /// it is DTRAIN_COMM_TIMEOUT, also for communicators that are made from this one. Not collective.
    /// @throws UsageError if it is negative
    void set_timeout(std::chrono::duration<double> timeout) const;

    /// What reports of hangs call this communicator in place of its ranks, "dp": the same in all its ranks.
    /// Not collective.
    void set_name(std::string_view name) const;

    /// Allocates memory that the ranks of a node share and for which reductions are fastest. Ranks may ask
    /// for different lengths, including 0. Collective. Any communicator over the same ranks, or over a subset
    /// of them, recognises it.
    /// @throws Error on all ranks if there is not enough shared memory
    SharedBuffer allocate(std::size_t bytes) const;

    /// Ranks of the same color form a communicator, ordered by key and then by rank. Collective.
    Communicator split(int color, int key) const;
    /// A communicator of the ranks that are listed, in that order. Collective over them alone: they pass the
    /// same list and tag, and the other ranks do not call it. Ranks that make several of them at a time name
    /// them by the tag, from 0 to 32767.
    /// @throws UsageError if the list is empty, has a rank that does not exist or one twice, or does not have
    /// this rank, or the tag does not exist; Error on all listed ranks if their lists or tags differ;
    /// CommunicatorTimeout if a listed rank does not call it in time
    Communicator subset(std::span<const int> ranks, int tag = 0) const;
    /// A communicator of the same ranks whose operations are independent of this one's. Collective.
    Communicator duplicate() const;
    /// A communicator of the ranks of this rank's node. Collective.
    Communicator node_local() const;
    /// A communicator of the ranks that have this rank's node rank, one from each node. Collective.
    Communicator cross_node() const;

    /// One human-readable line: how many ranks on how many nodes, and which transports they use.
    std::string describe() const;

  private:
    template <Reducible T>
    static detail::Call in_place(std::span<T> buffer, Reduction reduction) {
        return {.operation = detail::Operation::allreduce,
                .element = data_type_of<T>,
                .reduction = reduction,
                .send = std::as_bytes(buffer).data(),
                .receive = std::as_writable_bytes(buffer).data(),
                .count = buffer.size()};
    }

    template <Reducible T>
    detail::Call scattered(std::span<const T> in, std::span<T> out, Reduction reduction) const {
        auto call = moved(detail::Operation::reduce_scatter, std::as_bytes(in), std::as_writable_bytes(out));
        call.element = data_type_of<T>;
        call.reduction = reduction;
        call.count = out.size();
        return call;
    }

    template <class T>
    T reduced(T value, Reduction reduction) const {
        allreduce(std::span(&value, 1), reduction);
        return value;
    }

    detail::Call moved(detail::Operation operation, std::span<const std::byte> out,
                       std::span<std::byte> in) const;
    Shard shard_of_bytes(std::size_t bytes, std::size_t element) const;
    Request start_exchange(std::span<const std::byte> out, std::span<const std::size_t> out_counts,
                           std::span<std::byte> in, std::span<const std::size_t> in_counts,
                           std::size_t element) const;
    Request start_message(detail::Operation operation, std::span<const std::byte> out,
                          std::span<std::byte> in, int peer, int tag) const;
    Request start_from_any(std::span<std::byte> in, int& from, int tag) const;
    void run(const detail::Call& call) const;
    Request start(const detail::Call& call) const;

    friend struct detail::CommunicatorAccess;

    std::shared_ptr<CommunicatorBackend> backend_;
};

namespace detail {
/// Returns, on all ranks, the error of the lowest rank that has one, and records that all ranks will throw.
std::optional<std::string> agreed_error(const Communicator& communicator,
                                        const std::optional<std::string>& error);
}  // namespace detail

/// Makes all ranks fail if one does: throws, on all ranks, an Exception with the message of the lowest rank
/// that has one. Collective.
template <class Exception = UsageError>
void throw_together(const Communicator& communicator, const std::optional<std::string>& error) {
    if (const auto agreed = detail::agreed_error(communicator, error)) throw Exception(*agreed);
}

}  // namespace dtrain

#include <dtrain/mpi_session.hpp>  // NOLINT: kept because existing code relies on this header including it
