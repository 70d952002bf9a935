// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "base/huge_pages.hpp"
#include "comm/api/backend.hpp"
#include "comm/message/transport.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/own_comm.hpp"

namespace dtrain::comm {
namespace {

constexpr std::align_val_t at_a_page{memory_page};

/// A world of one rank: collective operations return its own data, and messages to itself wait for their
/// receivers.
class LocalBackend final : public CommunicatorBackend {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    int nodes() const override { return 1; }
    int node() const override { return 0; }
    int node_rank() const override { return 0; }
    int node_size() const override { return 1; }
    std::string describe() const override { return "1 rank, alone"; }

    std::unique_ptr<Transport> open_transport() override { return std::move(local_transports(1).front()); }

    std::unique_ptr<FailureMonitor> open_failure_monitor() override { return local_failure_monitor(); }

    MPI_Comm copy_for_mpi() override {
        if (!mpi_is_running())
            throw Error("to_mpi: MPI is not running, so this rank has no communicator of MPI");
        return copy_of(MPI_COMM_SELF);
    }

    Request start(const Call& call) override {
        switch (call.operation) {
            case Operation::reduce_scatter:
            case Operation::all_gather:
            case Operation::all_to_all:
            case Operation::all_to_allv:
                if (call.bytes() > 0) std::memmove(call.receive, call.send, call.bytes());
                return {};
            case Operation::reduce_shards:
                if (call.bytes() > 0) call.use(0, {call.receive, call.bytes()});
                return {};
            case Operation::send:
                sent_.push_back({call.tag, {call.send, call.send + call.count}});
                return {};
            case Operation::receive:
                receive(call);
                return {};
            case Operation::receive_any:
                receive(call);
                *call.from = 0;
                return {};
            default:
                return {};
        }
    }

    void run(const Call& call) override { start(call).wait(); }
    bool test(std::uintptr_t) override { return true; }
    void wait(std::uintptr_t) override {}
    bool wait_until(std::uintptr_t, Backoff::Clock::time_point) override { return true; }
    void set_deadline(std::chrono::duration<double>) override {}

    SharedBuffer allocate(std::size_t bytes, const std::shared_ptr<CommunicatorBackend>&) override {
        auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), at_a_page));
        std::memset(memory, 0, bytes);
        return {std::shared_ptr<void>(memory, [](void* owned) { ::operator delete(owned, at_a_page); }),
                {std::span(memory, bytes)},
                0};
    }

    std::shared_ptr<CommunicatorBackend> split(int, int) override { return std::make_shared<LocalBackend>(); }
    std::shared_ptr<CommunicatorBackend> subset(std::span<const int>, int) override { return split(0, 0); }

  private:
    struct Message {
        int tag;
        std::vector<std::byte> bytes;
    };

    void receive(const Call& call) {
        const auto found = std::find_if(sent_.begin(), sent_.end(),
                                        [&](const Message& message) { return message.tag == call.tag; });
        if (found == sent_.end())
            throw Error(
                fmt::format("receive with tag {} in a world of one: nothing was sent before", call.tag));
        if (found->bytes.size() != call.count)
            throw Error(fmt::format("receive of {} bytes: {} were sent", call.count, found->bytes.size()));
        std::copy(found->bytes.begin(), found->bytes.end(), call.receive);
        sent_.erase(found);
    }

    std::deque<Message> sent_;
};

}  // namespace

std::shared_ptr<CommunicatorBackend> local_backend() {
    static const auto backend = std::make_shared<LocalBackend>();
    return backend;
}

}  // namespace dtrain::comm
