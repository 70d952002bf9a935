// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of dtrain. Each scenario makes calls of MPI that test_trace_mpi.cpp then finds
// in the logs of the ranks.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <mpi.h>

namespace {

int world_rank = 0;
int world_size = 1;

int right() {
    return (world_rank + 1) % world_size;
}
int left() {
    return (world_rank + world_size - 1) % world_size;
}

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "rank %d: %s\n", world_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/// Counts, ranks and offsets of the forms in which each rank has another number of elements.
struct Varied {
    std::vector<int> counts, offsets;

    Varied() {
        for (int rank = 0; rank < world_size; ++rank) {
            offsets.push_back(rank == 0 ? 0 : offsets.back() + counts.back());
            counts.push_back(rank + 1);
        }
    }
    std::size_t all() const { return static_cast<std::size_t>(offsets.back() + counts.back()); }
};

void collectives() {
    const auto ranks = static_cast<std::size_t>(world_size);
    std::vector<int> own(4 * ranks, 1), all(4 * ranks * ranks);
    int sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == world_size * (world_size - 1) / 2, "the sum is wrong");
    std::array<double, 3> values{1, 2, 3};
    MPI_Bcast(values.data(), 3, MPI_DOUBLE, world_size - 1, MPI_COMM_WORLD);
    MPI_Reduce(own.data(), all.data(), 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Scan(own.data(), all.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Exscan(own.data(), all.data(), 2, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(own.data(), all.data(), 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    MPI_Allgather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 2, MPI_INT, MPI_COMM_WORLD);
    if (world_rank == 0)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 3, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(own.data(), 3, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        MPI_Scatter(all.data(), 3, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    else
        MPI_Scatter(nullptr, 0, MPI_DATATYPE_NULL, own.data(), 3, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoall(own.data(), 4, MPI_INT, all.data(), 4, MPI_INT, MPI_COMM_WORLD);
    const Varied varied;
    all.resize(varied.all());
    MPI_Allgatherv(own.data(), world_rank + 1, MPI_INT, all.data(), varied.counts.data(),
                   varied.offsets.data(), MPI_INT, MPI_COMM_WORLD);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(own.data(), 2, pair, 0, MPI_COMM_WORLD);
    MPI_Type_set_name(pair, "pair of ints");
    MPI_Bcast(own.data(), 1, pair, 0, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    std::array<MPI_Request, 2> requests{};
    MPI_Iallreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Ibcast(own.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, requests.data());
    for (int done = 0; done == 0;) MPI_Test(requests.data(), &done, MPI_STATUS_IGNORE);
}

void messages() {
    constexpr int tag = 7;
    int sent = world_rank, received = -1;
    MPI_Status status;
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(&received, 1, MPI_INT, left(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, right(), tag, MPI_COMM_WORLD, &requests[1]);
    for (int waited = 0; waited < 2; ++waited) {
        int index = -1;
        MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
    }
    check(received == left(), "another message");
    MPI_Sendrecv(&sent, 1, MPI_INT, right(), tag, &received, 1, MPI_INT, left(), tag, MPI_COMM_WORLD,
                 &status);
    MPI_Sendrecv(&sent, 1, MPI_INT, MPI_PROC_NULL, tag, &received, 1, MPI_INT, MPI_PROC_NULL, tag,
                 MPI_COMM_WORLD, &status);
    MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
    MPI_Isend(&sent, 1, MPI_INT, right(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Probe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
    std::array<char, 5> text{};
    MPI_Recv_init(text.data(), 5, MPI_CHAR, left(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init("abcd", 5, MPI_CHAR, right(), tag, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 2; ++round) {
        MPI_Startall(2, requests.data());
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
    for (auto& request : requests) MPI_Request_free(&request);
    check(std::string(text.data()) == "abcd", "another text");
}

/// So many that MPI completes at once share a request; each ends all the same.
void many_requests() {
    constexpr int each = 50;
    std::vector<int> sent(each), received(each);
    std::vector<MPI_Request> requests(2 * each);
    for (std::size_t at = 0; at < each; ++at) {
        MPI_Isend(&sent[at], 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[at]);
        MPI_Irecv(&received[at], 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &requests[each + at]);
    }
    for (int left_over = 2 * each; left_over > 0;) {
        std::vector<int> indices(requests.size());
        int completed = 0;
        MPI_Waitsome(2 * each, requests.data(), &completed, indices.data(), MPI_STATUSES_IGNORE);
        left_over -= completed;
    }
}

void communicators() {
    MPI_Comm twin = MPI_COMM_NULL, half = MPI_COMM_NULL, twin_of_half = MPI_COMM_NULL, first = MPI_COMM_NULL,
             some = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Comm_dup(half, &twin_of_half);
    MPI_Barrier(twin_of_half);
    MPI_Comm_set_name(half, "parity");
    MPI_Barrier(half);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? 0 : MPI_UNDEFINED, 0, &first);
    if (first != MPI_COMM_NULL) MPI_Barrier(first);
    MPI_Barrier(twin);
    MPI_Group all, last;
    const int last_rank = world_size - 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &last_rank, &last);
    if (world_rank == last_rank) {
        MPI_Comm_create_group(MPI_COMM_WORLD, last, 3, &some);
        MPI_Barrier(some);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&last);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Comm_free(&twin_of_half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
}

/// More than the log has room for: those that are too many are told apart by nobody, and harm nobody.
void many_communicators() {
    for (int made = 0; made < 300; ++made) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
}

/// The MPI library's own, whatever is loaded in front of it.
template <class Function>
Function* behind(const char* name) {
    Dl_info info{};
    // What nobody wraps tells where the MPI library is.
    void* const function_of_mpi = ::dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
    check(function_of_mpi != nullptr && ::dladdr(function_of_mpi, &info) != 0, "there is no MPI library");
    void* const library = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    check(library != nullptr, "the MPI library is not loaded");
    auto* const function = reinterpret_cast<Function*>(::dlsym(library, name));
    check(function != nullptr, name);
    return function;
}

/// Made behind the library's back.
void unknown_communicator() {
    MPI_Comm comm = MPI_COMM_NULL;
    behind<decltype(MPI_Comm_dup)>("MPI_Comm_dup")(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    behind<decltype(MPI_Comm_free)>("MPI_Comm_free")(&comm);
}

/// As functions for other languages call them.
void by_profiling_names() {
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Barrier(comm);
    PMPI_Comm_free(&comm);
}

void windows_and_files(const char* path) {
    int value = 0;
    void* memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory), &window);
    MPI_Win_fence(0, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window);
    MPI_Win_unlock(right(), window);
    MPI_Win_free(&window);
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
              MPI_SUCCESS,
          "the file cannot be opened");
    MPI_File_write_at_all(file, world_rank * 4, &world_rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);  // the one rank may have written for the other
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at(file, world_rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    check(value == world_rank, "the file has something else");
    MPI_File_close(&file);
}

void threads() {
    constexpr int count = 4, rounds = 75;
    std::array<MPI_Comm, count> comms{};
    for (auto& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<std::thread> all;
    for (auto& comm : comms)
        all.emplace_back([&comm] {
            for (int round = 0; round < rounds; ++round) {
                int sum = 0, received = -1;
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(&received, 1, MPI_INT, left(), 0, comm, &request);
                MPI_Send(&round, 1, MPI_INT, right(), 0, comm);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                check(received == round, "a message of another thread");
                MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comm);
                check(sum == round * world_size, "a sum of another thread");
            }
        });
    for (auto& thread : all) thread.join();
    for (auto& comm : comms) MPI_Comm_free(&comm);
}

/// The last rank kills itself while it waits for a message that never comes.
void killed() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank != world_size - 1) std::this_thread::sleep_for(std::chrono::seconds(60));
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ::kill(::getpid(), SIGKILL);
    }).detach();
    int received = 0;
    MPI_Recv(&received, 1, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// As `killed`, with a thread that goes on communicating: what the other one waits for is not forgotten.
void killed_beside_a_busy_thread() {
    MPI_Barrier(MPI_COMM_WORLD);
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        for (int round = 0; round < 3000; ++round) MPI_Barrier(MPI_COMM_SELF);
        ::kill(::getpid(), SIGKILL);
    }).detach();
    int received = 0;
    MPI_Recv(&received, 1, MPI_INT, world_rank, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    check(argc == 3, "SCENARIO FILE");
    const std::map<std::string, void (*)()> scenarios{
        {"collectives", collectives},
        {"messages", messages},
        {"many_requests", many_requests},
        {"communicators", communicators},
        {"many_communicators", many_communicators},
        {"unknown_communicator", unknown_communicator},
        {"by_profiling_names", by_profiling_names},
        {"threads", threads},
        {"killed", killed},
        {"killed_beside_a_busy_thread", killed_beside_a_busy_thread},
    };
    if (std::string(argv[1]) == "windows_and_files") {
        windows_and_files(argv[2]);
    } else {
        check(scenarios.contains(argv[1]), "no such scenario");
        check(provided == MPI_THREAD_MULTIPLE || std::string(argv[1]).find("thread") == std::string::npos,
              "this MPI has no threads");
        scenarios.at(argv[1])();
    }
    MPI_Finalize();
}
