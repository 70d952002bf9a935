// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>

#include "comm/api/backend.hpp"
#include "comm/api/defined_reduction.hpp"
#include "comm/api/subset.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/node/announced.hpp"
#include "comm/node/staged.hpp"

namespace dtrain {

using comm::Call;
using comm::Operation;

namespace {

constexpr int largest_tag = 32767;  // the minimum that every MPI library supports

Call broadcast_of(std::span<std::byte> buffer, int root, int size) {
    if (root < 0 || root >= size)
        throw Error(fmt::format("broadcast from rank {} in a world of {} ranks", root, size));
    return {.operation = Operation::broadcast,
            .send = buffer.data(),
            .receive = buffer.data(),
            .count = buffer.size(),
            .peer = root};
}

std::size_t total(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

std::vector<std::size_t> times(std::span<const std::size_t> counts, std::size_t element) {
    std::vector<std::size_t> bytes(counts.begin(), counts.end());
    for (auto& count : bytes) count *= element;
    return bytes;
}

}  // namespace

Communicator::Communicator() : backend_(comm::local_backend()) {}

int Communicator::rank() const {
    return backend_->rank();
}

int Communicator::size() const {
    return backend_->size();
}

int Communicator::node_rank() const {
    return backend_->node_rank();
}

int Communicator::node_size() const {
    return backend_->node_size();
}

int Communicator::nodes() const {
    return backend_->nodes();
}

void Communicator::run(const Call& call) const {
    comm::check_reduction(call);
    backend_->run(call);
}

Request Communicator::start(const Call& call) const {
    comm::check_reduction(call);
    return backend_->start(call);
}

void Communicator::barrier() const {
    run({.operation = Operation::barrier});
}

Request Communicator::start_barrier() const {
    return start({.operation = Operation::barrier});
}

void Communicator::broadcast(std::span<std::byte> buffer, int root) const {
    run(broadcast_of(buffer, root, size()));
}

Request Communicator::start_broadcast(std::span<std::byte> buffer, int root) const {
    return start(broadcast_of(buffer, root, size()));
}

Call Communicator::moved(Operation operation, std::span<const std::byte> out, std::span<std::byte> in) const {
    const auto ranks = static_cast<std::size_t>(size());
    const auto block = operation == Operation::all_gather ? out.size() : in.size();
    const bool fits = operation == Operation::all_gather ? in.size() == ranks * block
                      : operation == Operation::reduce_scatter
                          ? out.size() == ranks * block
                          : out.size() == in.size() && block % ranks == 0;
    if (!fits)
        throw Error(fmt::format("{} from {} into {} bytes does not fit {} ranks", comm::name_of(operation),
                                out.size(), in.size(), ranks));
    return {.operation = operation,
            .send = out.data(),
            .receive = in.data(),
            .count = operation == Operation::all_to_all ? block / ranks : block};
}

Request Communicator::start_exchange(std::span<const std::byte> out, std::span<const std::size_t> out_counts,
                                     std::span<std::byte> in, std::span<const std::size_t> in_counts,
                                     std::size_t element) const {
    const auto ranks = static_cast<std::size_t>(size());
    if (out_counts.size() != ranks || in_counts.size() != ranks)
        throw Error(fmt::format("all_to_allv with {} and {} lengths for {} ranks", out_counts.size(),
                                in_counts.size(), ranks));
    auto send = times(out_counts, element);
    auto receive = times(in_counts, element);
    if (total(send) != out.size() || total(receive) != in.size())
        throw Error(
            fmt::format("all_to_allv: the lengths add up to {} and {} bytes, the buffers have {} and {}",
                        total(send), total(receive), out.size(), in.size()));
    const auto max = *std::max_element(send.begin(), send.end());
    return start({.operation = Operation::all_to_allv,
                  .send = out.data(),
                  .receive = in.data(),
                  .count = max,
                  .send_counts = std::move(send),
                  .receive_counts = std::move(receive)});
}

Request Communicator::start_message(Operation operation, std::span<const std::byte> out,
                                    std::span<std::byte> in, int peer, int tag) const {
    if (peer < 0 || peer >= size() || tag < 0 || tag > largest_tag)
        throw Error(fmt::format("{} with rank {} and tag {} in a world of {} ranks: tags are 0 to {}",
                                comm::name_of(operation), peer, tag, size(), largest_tag));
    return start({.operation = operation,
                  .send = out.data(),
                  .receive = in.data(),
                  .count = out.size() + in.size(),
                  .peer = peer,
                  .tag = tag});
}

Request Communicator::start_from_any(std::span<std::byte> in, int& from, int tag) const {
    if (tag < 0 || tag > largest_tag)
        throw Error(fmt::format("receive_any with tag {}: tags are 0 to {}", tag, largest_tag));
    return start({.operation = Operation::receive_any,
                  .receive = in.data(),
                  .count = in.size(),
                  .peer = comm::any_rank,
                  .tag = tag,
                  .from = &from});
}

Communicator::Shard Communicator::shard_of_bytes(std::size_t bytes, std::size_t element) const {
    const auto shard = comm::shard_of(bytes, backend_->node_rank(), backend_->node_size());
    return {shard.first / element, shard.bytes / element};
}

std::string Communicator::broadcast(const std::string& text, int root) const {
    std::int64_t length = static_cast<std::int64_t>(text.size());
    broadcast(std::span(&length, 1), root);
    std::string received = text;
    received.resize(static_cast<std::size_t>(length));
    broadcast(std::as_writable_bytes(std::span(received)), root);
    return received;
}

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
    // Texts are padded to the length of the longest one: they are few and short.
    const auto lengths = all_gather(static_cast<std::int64_t>(text.size()));
    std::size_t max = 0;
    for (const auto length : lengths) max = std::max(max, static_cast<std::size_t>(length));
    std::string mine = text;
    mine.resize(max);
    std::string all(max * lengths.size(), '\0');
    all_gather(std::span<const char>(mine), std::span<char>(all));
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank)
        texts.push_back(all.substr(rank * max, static_cast<std::size_t>(lengths[rank])));
    return texts;
}

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(size()));
    all_gather(std::span<const std::int64_t>(&value, 1), std::span(values));
    return values;
}

void Communicator::set_timeout(std::chrono::duration<double> timeout) const {
    if (!(timeout.count() >= 0))
        throw UsageError(fmt::format("timeout of {} seconds: it is 0 (none) or more", timeout.count()));
    backend_->set_deadline(timeout);
}

void Communicator::set_name(std::string_view name) const {
    backend_->set_name(name);
}

SharedBuffer Communicator::allocate(std::size_t bytes) const {
    return backend_->allocate(bytes, backend_);
}

Communicator Communicator::split(int color, int key) const {
    if (color < 0) throw Error(fmt::format("split with colour {}: colours are 0 or more", color));
    return Communicator(backend_->split(color, key));
}

Communicator Communicator::subset(std::span<const int> ranks, int tag) const {
    comm::check_subset(ranks, rank(), size());
    if (tag < 0 || tag > largest_tag)
        throw UsageError(fmt::format("subset with tag {}: tags are 0 to {}", tag, largest_tag));
    return Communicator(backend_->subset(ranks, tag));
}

Communicator Communicator::duplicate() const {
    return split(0, rank());
}

Communicator Communicator::node_local() const {
    return split(backend_->node(), rank());
}

Communicator Communicator::cross_node() const {
    return split(backend_->node_rank(), rank());
}

std::string Communicator::describe() const {
    return backend_->describe();
}

std::shared_ptr<CommunicatorBackend> comm::backend_of(const Communicator& communicator) {
    return detail::CommunicatorAccess::backend_of(communicator);
}

namespace detail {

std::optional<std::string> agreed_error(const Communicator& communicator,
                                        const std::optional<std::string>& error) {
    const std::int64_t none = communicator.size();
    const auto first = communicator.min(error ? std::int64_t{communicator.rank()} : none);
    if (first == none) return std::nullopt;
    auto agreed = communicator.broadcast(error.value_or(""), static_cast<int>(first));
    comm::note_agreed_failure(communicator.size());
    return agreed;
}

}  // namespace detail
}  // namespace dtrain
