// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <exception>

#include <climits>
#include <fmt/format.h>

#include "comm/backend.hpp"
#include "comm/mpi_error.hpp"

namespace dtrain {
namespace comm {
namespace {

MPI_Datatype type_of(Element element) {
    switch (element) {
        case Element::float32:
            return MPI_FLOAT;
        case Element::float64:
            return MPI_DOUBLE;
        case Element::int64:
            return MPI_INT64_T;
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op operation_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
            return MPI_SUM;
        case Reduction::min:
            return MPI_MIN;
        case Reduction::max:
            return MPI_MAX;
    }
    return MPI_OP_NULL;
}

std::size_t bytes_of(Element element) {
    return element == Element::float32 ? 4 : 8;
}

// MPI 3 counts in int; longer buffers go in pieces of this many elements.
constexpr std::size_t longest_piece = std::size_t{1} << 30;
static_assert(longest_piece <= INT_MAX);

// MPI_Request is a pointer in Open MPI and an int in MPICH.
static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));

std::uintptr_t to_handle(MPI_Request request) {
    std::uintptr_t handle = 0;
    std::memcpy(&handle, &request, sizeof(request));
    return handle;
}

MPI_Request from_handle(std::uintptr_t handle) {
    MPI_Request request;
    std::memcpy(&request, &handle, sizeof(request));
    return request;
}

class MpiBackend final : public CommunicatorBackend {
  public:
    explicit MpiBackend(MPI_Comm parent) {
        // A communicator of its own keeps our messages apart from those of other users of MPI.
        check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
        check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
    }

    MpiBackend(const MpiBackend&) = delete;
    MpiBackend& operator=(const MpiBackend&) = delete;

    ~MpiBackend() override {
        // Collective, and meaningless after MPI_Finalize: not while unwinding, not too late.
        const bool alone = std::uncaught_exceptions() > 0 && !failure_is_agreed();
        if (!alone && mpi_is_running()) MPI_Comm_free(&communicator_);
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    void barrier() override { checked(MPI_Barrier(communicator_), "MPI_Barrier"); }

    void allreduce(void* data, std::size_t count, Element element, Reduction reduction) override {
        auto* bytes = static_cast<std::byte*>(data);
        for (std::size_t done = 0; done < count;) {
            const auto piece = std::min(count - done, longest_piece);
            checked(MPI_Allreduce(MPI_IN_PLACE, bytes + done * bytes_of(element), static_cast<int>(piece),
                                  type_of(element), operation_of(reduction), communicator_),
                    "MPI_Allreduce");
            done += piece;
        }
    }

    Request start_allreduce_sum(float* data, std::size_t count) override {
        if (count > longest_piece) {
            allreduce(data, count, Element::float32, Reduction::sum);
            return {};
        }
        MPI_Request request = MPI_REQUEST_NULL;
        checked(MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, communicator_,
                               &request),
                "MPI_Iallreduce");
        return {this, to_handle(request)};
    }

    void broadcast(std::byte* data, std::size_t bytes, int root) override {
        for (std::size_t done = 0; done < bytes;) {
            const auto piece = std::min(bytes - done, longest_piece);
            checked(MPI_Bcast(data + done, static_cast<int>(piece), MPI_BYTE, root, communicator_),
                    "MPI_Bcast");
            done += piece;
        }
    }

    void allgather(const std::byte* mine, std::size_t bytes, std::byte* all) override {
        if (bytes > longest_piece)
            throw Error(
                fmt::format("allgather of {} bytes per rank: at most {} are possible", bytes, longest_piece));
        const int count = static_cast<int>(bytes);
        checked(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, communicator_), "MPI_Allgather");
    }

    bool test(std::uintptr_t& handle) override {
        auto request = from_handle(handle);
        int complete = 0;
        const int code = MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        handle = to_handle(request);
        checked(code, "MPI_Iallreduce");
        return complete != 0;
    }

    void wait(std::uintptr_t& handle) override {
        auto request = from_handle(handle);
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        handle = to_handle(request);
        checked(code, "MPI_Iallreduce");
    }

  private:
    static void checked(int code, const char* operation) {
        note_agreed_failure(false);
        check(code, operation);
    }

    MPI_Comm communicator_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace
}  // namespace comm

Communicator mpi_world() {
    if (!comm::mpi_is_running()) throw Error("MPI is not running: make an MpiSession first and keep it");
    return Communicator(std::make_shared<comm::MpiBackend>(MPI_COMM_WORLD));
}

}  // namespace dtrain
