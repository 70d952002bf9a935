// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>

#include "comm/backend.hpp"

namespace dtrain {

using comm::Element;
using comm::Reduction;

Request::Request(Request&& other) noexcept
    : backend_(std::exchange(other.backend_, nullptr)), handle_(std::exchange(other.handle_, 0)) {}

Request& Request::operator=(Request&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(handle_, other.handle_);
    Request held(std::move(other));
    return *this;
}

Request::~Request() {
    if (backend_ == nullptr || std::uncaught_exceptions() > 0) return;
    try {
        wait();
    } catch (const MpiError&) {
        // Whoever needed the result would have waited for it.
    }
}

bool Request::test() {
    if (backend_ != nullptr && backend_->test(handle_)) backend_ = nullptr;
    return backend_ == nullptr;
}

void Request::wait() {
    if (backend_ != nullptr) std::exchange(backend_, nullptr)->wait(handle_);
}

Communicator::Communicator() : backend_(comm::local_backend()) {}

int Communicator::rank() const {
    return backend_->rank();
}

int Communicator::size() const {
    return backend_->size();
}

void Communicator::barrier() const {
    backend_->barrier();
}

void Communicator::allreduce_sum(std::span<float> buffer) const {
    backend_->allreduce(buffer.data(), buffer.size(), Element::float32, Reduction::sum);
}

void Communicator::allreduce_sum(std::span<double> buffer) const {
    backend_->allreduce(buffer.data(), buffer.size(), Element::float64, Reduction::sum);
}

void Communicator::allreduce_sum(std::span<std::int64_t> buffer) const {
    backend_->allreduce(buffer.data(), buffer.size(), Element::int64, Reduction::sum);
}

Request Communicator::start_allreduce_sum(std::span<float> buffer) const {
    return backend_->start_allreduce_sum(buffer.data(), buffer.size());
}

double Communicator::sum(double value) const {
    backend_->allreduce(&value, 1, Element::float64, Reduction::sum);
    return value;
}

std::int64_t Communicator::sum(std::int64_t value) const {
    backend_->allreduce(&value, 1, Element::int64, Reduction::sum);
    return value;
}

std::int64_t Communicator::max(std::int64_t value) const {
    backend_->allreduce(&value, 1, Element::int64, Reduction::max);
    return value;
}

double Communicator::max(double value) const {
    backend_->allreduce(&value, 1, Element::float64, Reduction::max);
    return value;
}

std::int64_t Communicator::min(std::int64_t value) const {
    backend_->allreduce(&value, 1, Element::int64, Reduction::min);
    return value;
}

void Communicator::broadcast(std::span<std::byte> buffer, int root) const {
    if (root < 0 || root >= size())
        throw Error(fmt::format("broadcast from rank {} in a world of {} ranks", root, size()));
    backend_->broadcast(buffer.data(), buffer.size(), root);
}

std::string Communicator::broadcast(const std::string& text, int root) const {
    std::int64_t length = static_cast<std::int64_t>(text.size());
    broadcast(std::span(&length, 1), root);
    std::string received = text;
    received.resize(static_cast<std::size_t>(length));
    broadcast(std::as_writable_bytes(std::span(received)), root);
    return received;
}

std::vector<std::string> Communicator::allgather(const std::string& text) const {
    // Texts travel in blocks of the longest one's length: they are few and short.
    const auto lengths = allgather(static_cast<std::int64_t>(text.size()));
    std::size_t longest = 0;
    for (const auto length : lengths) longest = std::max(longest, static_cast<std::size_t>(length));
    std::string mine = text;
    mine.resize(longest);
    std::string all(longest * lengths.size(), '\0');
    backend_->allgather(std::as_bytes(std::span(mine)).data(), longest,
                        std::as_writable_bytes(std::span(all)).data());
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank)
        texts.push_back(all.substr(rank * longest, static_cast<std::size_t>(lengths[rank])));
    return texts;
}

std::vector<std::int64_t> Communicator::allgather(std::int64_t value) const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(size()));
    backend_->allgather(std::as_bytes(std::span(&value, 1)).data(), sizeof(value),
                        std::as_writable_bytes(std::span(values)).data());
    return values;
}

namespace detail {

std::optional<std::string> agreed_error(const Communicator& communicator,
                                        const std::optional<std::string>& error) {
    const std::int64_t none = communicator.size();
    const auto first = communicator.min(error ? std::int64_t{communicator.rank()} : none);
    if (first == none) return std::nullopt;
    auto agreed = communicator.broadcast(error.value_or(""), static_cast<int>(first));
    comm::note_agreed_failure(true);
    return agreed;
}

}  // namespace detail
}  // namespace dtrain
