// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain {

/// Error codes of MPI ("MPI_ERR_TRUNCATE: message truncated").
const std::error_category& mpi_category();

/// A call of MPI that failed: `code().category()` is mpi_category().
class MpiError : public Error {
  public:
    MpiError(const std::string& operation, int code)
        : Error(operation + " failed: " + mpi_category().message(code)), code_(code, mpi_category()) {}

    const std::error_code& code() const { return code_; }

  private:
    std::error_code code_;
};

/// What a Communicator stands on. Ranks call collective operations in the same order.
class CommunicatorBackend;

/// An operation that was started. Movable. The buffer belongs to the operation until wait() or test() says
/// that it is complete; the communicator must live as long.
class Request {
  public:
    Request() = default;  ///< complete
    Request(CommunicatorBackend* backend, std::uintptr_t handle) : backend_(backend), handle_(handle) {}
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;  ///< waits for the operation that was held
    /// Waits, except while an exception unwinds: then the other ranks may never come.
    ~Request();

    /// Pokes the operation on; true when it is complete. @throws MpiError
    bool test();

    /// @throws MpiError
    void wait();

    bool complete() const { return backend_ == nullptr; }

  private:
    CommunicatorBackend* backend_ = nullptr;
    std::uintptr_t handle_ = 0;
};

/// A group of ranks that exchange data. A value: copies share one underlying communicator. The default one is
/// a world of one rank that never calls MPI. All operations are collective; a sum is made in an order that is
/// fixed for given size and number of ranks: it has the same bits on every rank and in every run. All throw
/// MpiError.
class Communicator {
  public:
    /// A world of one.
    Communicator();
    explicit Communicator(std::shared_ptr<CommunicatorBackend> backend) : backend_(std::move(backend)) {}

    int rank() const;
    int size() const;

    void barrier() const;

    /// Sums element by element over ranks, in place. Buffers have the same length on all ranks.
    void allreduce_sum(std::span<float> buffer) const;
    void allreduce_sum(std::span<double> buffer) const;
    void allreduce_sum(std::span<std::int64_t> buffer) const;

    /// Starts allreduce_sum(). Allocates nothing of its own.
    [[nodiscard]] Request start_allreduce_sum(std::span<float> buffer) const;

    /// Sums, maxima and minima of one value per rank.
    double sum(double value) const;
    std::int64_t sum(std::int64_t value) const;
    std::int64_t max(std::int64_t value) const;
    double max(double value) const;
    std::int64_t min(std::int64_t value) const;

    /// True on all ranks when it is on every one.
    bool all(bool value) const { return min(std::int64_t{value}) != 0; }

    /// Sends root's bytes to all ranks; same length everywhere.
    void broadcast(std::span<std::byte> buffer, int root = 0) const;

    template <class Element>
    requires(std::is_trivially_copyable_v<Element> && !std::is_const_v<Element> &&
             !std::is_same_v<Element, std::byte>) void broadcast(std::span<Element> buffer,
                                                                 int root = 0) const {
        broadcast(std::as_writable_bytes(buffer), root);
    }

    /// Root's text, on all ranks.
    std::string broadcast(const std::string& text, int root = 0) const;

    /// Every rank's text, by rank.
    std::vector<std::string> allgather(const std::string& text) const;

    /// Every rank's value, by rank.
    std::vector<std::int64_t> allgather(std::int64_t value) const;

  private:
    std::shared_ptr<CommunicatorBackend> backend_;
};

/// A communicator over a copy of MPI_COMM_WORLD. MPI must be initialised (MpiSession) and stay so while any
/// copy lives. @throws MpiError, Error when MPI is not initialised
Communicator mpi_world();

/// MPI's life in this process: initialised for calls from the main thread (MPI_THREAD_FUNNELED) and ended
/// with the object. While an exception unwinds it is not ended, unless all ranks threw together: MPI_Finalize
/// would wait for ranks that know nothing of the failure. Call abort_job() after saying what happened.
class MpiSession {
  public:
    /// @throws MpiError, Error when MPI cannot be initialised (again)
    MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession();

    /// A communicator over all ranks.
    const Communicator& world() const { return *world_; }

    /// "Open MPI v4.1.4 ...", "MPICH Version: 4.0.2": the library that runs, one line.
    static std::string library_version();

  private:
    int exceptions_ = 0;
    std::optional<Communicator> world_;
};

/// Ends all ranks of the job with this status, when MPI is running; otherwise ends the process.
[[noreturn]] void abort_job(int status);

namespace detail {
/// The lowest rank's error, on all ranks; notes that all of them will throw.
std::optional<std::string> agreed_error(const Communicator& communicator,
                                        const std::optional<std::string>& error);
}  // namespace detail

/// Lets all ranks fail when one does: throws Exception with the message of the lowest rank that has one, on
/// all ranks. Collective.
template <class Exception = UsageError>
void throw_together(const Communicator& communicator, const std::optional<std::string>& error) {
    if (const auto agreed = detail::agreed_error(communicator, error)) throw Exception(*agreed);
}

}  // namespace dtrain
