// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// bare_ps OPTIMIZER WIDTH BATCH ROWS, on two ranks: a minimal parameter server, as an upper bound for that of
// src/ps. Rank 0 serves the table of bare_table.hpp with one blocking message each way, rank 1 sends
// requests: only one server and one trainer, no repeated ids, no checks, no steps. Prints a line for each of
// pull, push and both: name, million keys per second, p50 and p99 of a request in microseconds.
#include <cstring>

#include <mpi.h>

#include "bare_table.hpp"
#include "request_load.hpp"

namespace {

using dtrain::benchmarks::BareTable;
using dtrain::benchmarks::RequestLoad;

constexpr int server_rank = 0;
constexpr int client_rank = 1;

enum Tag : int { pull_tag, push_tag, end_tag };

int bytes_of(std::size_t count, std::size_t size) {
    return static_cast<int>(count * size);
}

// A request consists of the ids, followed by the gradients if it is a push.
void serve(const RequestLoad& load) {
    BareTable table(load.width, load.optimizer == "adam");
    const auto id_and_row = sizeof(std::int64_t) + load.width * sizeof(float);
    std::vector<std::int64_t> request(load.batch * id_and_row / sizeof(std::int64_t) + 1);
    std::vector<float> rows(load.batch * load.width);
    while (true) {
        MPI_Status status;
        MPI_Recv(request.data(), bytes_of(request.size(), sizeof(std::int64_t)), MPI_BYTE, client_rank,
                 MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == end_tag) return;
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        if (status.MPI_TAG == pull_tag) {
            const std::span ids(request.data(), static_cast<std::size_t>(bytes) / sizeof(std::int64_t));
            table.pull(ids, rows);
            MPI_Send(rows.data(), bytes_of(ids.size() * load.width, sizeof(float)), MPI_BYTE, client_rank,
                     pull_tag, MPI_COMM_WORLD);
        } else {
            const std::span ids(request.data(), static_cast<std::size_t>(bytes) / id_and_row);
            const auto* gradients = reinterpret_cast<const float*>(ids.data() + ids.size());
            table.push(ids, {gradients, ids.size() * load.width});
            MPI_Send(nullptr, 0, MPI_BYTE, client_rank, push_tag, MPI_COMM_WORLD);
        }
    }
}

class Client {
  public:
    void pull(std::span<const std::int64_t> ids, std::span<float> rows) {
        MPI_Send(ids.data(), bytes_of(ids.size(), sizeof(std::int64_t)), MPI_BYTE, server_rank, pull_tag,
                 MPI_COMM_WORLD);
        MPI_Recv(rows.data(), bytes_of(rows.size(), sizeof(float)), MPI_BYTE, server_rank, pull_tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    void push(std::span<const std::int64_t> ids, std::span<const float> gradients) {
        request_.resize(ids.size_bytes() + gradients.size_bytes());
        std::memcpy(request_.data(), ids.data(), ids.size_bytes());
        std::memcpy(request_.data() + ids.size_bytes(), gradients.data(), gradients.size_bytes());
        MPI_Send(request_.data(), bytes_of(request_.size(), 1), MPI_BYTE, server_rank, push_tag,
                 MPI_COMM_WORLD);
        MPI_Recv(nullptr, 0, MPI_BYTE, server_rank, push_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    void end() { MPI_Send(nullptr, 0, MPI_BYTE, server_rank, end_tag, MPI_COMM_WORLD); }

  private:
    std::vector<std::byte> request_;
};

void ask(const RequestLoad& load) {
    Client client;
    touch_all(client, load);
    measure_requests(client, load, [](const char* name, const auto& figures) {
        fmt::print("{} {} {} {}\n", name, figures.rate, figures.p50, figures.p99);
    });
    client.end();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        fmt::print(stderr, "usage: mpirun -np 2 bare_ps sgd|adam WIDTH BATCH ROWS\n");
        return 2;
    }
    const auto load = dtrain::benchmarks::request_load_of(argv + 1);
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == server_rank)
        serve(load);
    else
        ask(load);
    MPI_Finalize();
}
