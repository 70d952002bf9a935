// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_stand_in.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <mpi.h>
#include <nccl.h>

#include <dtrain/half.hpp>

#include "comm/nccl/nccl_of_cuda.hpp"
#include "gpu/processor/work.hpp"

namespace nccl_stand_in {
namespace {

// The module's own code is linked into this program, with what is below in place of the libraries.
[[maybe_unused]] const bool is_linked = [] {
    dtrain::comm::use_nccl_module(*dtrain_open_nccl());
    return true;
}();

MPI_Comm ranks = MPI_COMM_NULL;
Script script_;
Seen seen_;

int own_rank() {
    int rank = 0;
    if (ranks != MPI_COMM_NULL) MPI_Comm_rank(ranks, &rank);
    return rank;
}

/// Looks like an ncclUniqueId.
struct Id {
    char mark[8];
    int root;
    int number;
};

}  // namespace

Script& script() {
    return script_;
}

Seen& seen() {
    return seen_;
}

void reset() {
    script_ = {};
    seen_ = {};
}

void connect() {
    if (ranks == MPI_COMM_NULL) MPI_Comm_dup(MPI_COMM_WORLD, &ranks);
}

}  // namespace nccl_stand_in

using nccl_stand_in::Id;
using nccl_stand_in::own_rank;
using nccl_stand_in::script;
using nccl_stand_in::seen;

namespace {

/// What the ranks of an operation must agree on: where they do not, it does not end.
struct Arguments {
    enum Name { message, allreduce, reduce_scatter, all_gather, broadcast };
    Name name = message;
    ncclDataType_t type = ncclInt8;
    ncclRedOp_t reduction = ncclSum;
    int root = 0;
    std::size_t count = 0;

    friend bool operator==(const Arguments&, const Arguments&) = default;
};

/// One message of an operation.
struct Piece {
    bool is_send = false;
    char* data = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
    Arguments arguments = {};
};

struct Work {
    std::function<bool()> advance;
};

/// Of the GPU: what was put in goes on in order.
void move_streams();

}  // namespace

/// A stream of the stand-in for GPUs (gpu/processor), which computes what it is given when somebody waits.
using Computing = dtrain::gpu::OwnedWork;

struct CUstream_st {
    std::deque<Work> queue;
    std::uint64_t put = 0;
    std::uint64_t done = 0;
    ncclComm* used_by = nullptr;
    dtrain::gpu::StreamWork* captured_with = nullptr;  ///< it is a branch of what that one captures
    int captured = 0;                                  ///< operations of that branch
};

struct CUevent_st {
    CUstream_st* stream = nullptr;
    std::uint64_t position = 0;
    Computing computing = nullptr;  ///< of which it is a point, in place of `stream`
    dtrain::gpu::StreamWork* captured_with = nullptr;
    int captured = 0;

    bool reached() const {
        if (computing) return computing->advance(position);
        return stream == nullptr || stream->done >= position;
    }
};

struct ncclComm {
    int rank = 0;
    int size = 1;
    int tag = 0;  ///< of data; the next ones are of the start and of arguments
    std::vector<int> world;
    int polls_left = 0;
    int operations = 0;
    ncclResult_t error = ncclSuccess;
    std::function<bool()> joining;
    bool gpu_fails = false;
    int registered = 0;
    bool finalized = false;
    std::atomic<bool> aborted = false;
    std::shared_ptr<int> graphs = std::make_shared<int>(0);  ///< each has it as well
};

namespace {

std::set<CUstream_st*> streams;
CUstream_st default_stream;
struct OnGpu {
    std::size_t bytes = 0;
    int device = 0;
};
std::map<char*, OnGpu> memory;
int device = 0;
int group_depth = 0;
std::atomic<bool> any_gpu_failure = false;

struct Pending {
    ncclComm* comm;
    CUstream_st* stream;
    std::vector<Piece> pieces;
    std::function<void()> finish;
};
std::vector<Pending> group;

/// Nothing for a stream of this stand-in.
Computing computing_of(cudaStream_t stream) {
    if (stream == nullptr || streams.contains(stream)) return nullptr;
    return *reinterpret_cast<Computing*>(stream);
}

CUstream_st& stream_of(cudaStream_t stream) {
    return stream == nullptr ? default_stream : *stream;
}

void put_into(CUstream_st& stream, std::function<bool()> advance) {
    stream.queue.push_back({std::move(advance)});
    ++stream.put;
}

void move(CUstream_st& stream) {
    while (!stream.queue.empty() && stream.queue.front().advance()) {
        stream.queue.pop_front();
        ++stream.done;
    }
}

void move_streams() {
    move(default_stream);
    for (auto* stream : streams) move(*stream);
}

void wrong(const std::string& what) {
    seen().wrong.push_back(what);
}

bool all_are_done(std::vector<MPI_Request>& requests) {
    int all = 1;
    if (!requests.empty())
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE);
    return all != 0;
}

/// Sends and receives pieces; those of a rank to itself meet in order. Before its data each has its
/// arguments.
struct Exchange {
    ncclComm* comm;
    std::vector<Piece> pieces;
    std::function<void()> finish;
    std::vector<Arguments> others_arguments;  ///< for each piece that is received
    std::vector<MPI_Request> arguments_come;
    std::vector<MPI_Request> requests;
    bool begun = false;
    bool agreed = false;

    bool advance() {
        if (comm->aborted) return true;
        if (comm->gpu_fails || comm->error != ncclSuccess) return false;
        if (comm->polls_left > 0) return false;
        if (!begun) begin();
        if (!agreed) agree();
        if (!agreed || !all_are_done(requests)) return false;
        finish();
        return true;
    }

    void begin() {
        begun = true;
        others_arguments.resize(pieces.size());
        std::deque<Piece> to_self;
        for (const auto& piece : pieces)
            if (piece.is_send && piece.peer == comm->rank) to_self.push_back(piece);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            auto& piece = pieces[i];
            if (piece.peer == comm->rank) {
                if (piece.is_send) continue;
                std::memmove(piece.data, to_self.front().data, piece.bytes);
                to_self.pop_front();
            } else if (piece.is_send) {
                start(requests, MPI_Isend, &piece.arguments, sizeof(Arguments), piece.peer, arguments_tag());
                start(requests, MPI_Isend, piece.data, piece.bytes, piece.peer, comm->tag);
            } else {
                start(arguments_come, MPI_Irecv, &others_arguments[i], sizeof(Arguments), piece.peer,
                      arguments_tag());
            }
        }
    }

    void agree() {
        if (!all_are_done(arguments_come)) return;
        const auto is_received = [&](const Piece& piece) {
            return !piece.is_send && piece.peer != comm->rank;
        };
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (is_received(pieces[i]) && others_arguments[i] != pieces[i].arguments) return;
        for (const auto& piece : pieces)
            if (is_received(piece))
                start(requests, MPI_Irecv, piece.data, piece.bytes, piece.peer, comm->tag);
        agreed = true;
    }

    int arguments_tag() const { return comm->tag + 2; }

    template <class Start>
    void start(std::vector<MPI_Request>& into, Start call, void* data, std::size_t bytes, int peer,
               int tag) const {
        into.push_back(MPI_REQUEST_NULL);
        call(data, static_cast<int>(bytes), MPI_BYTE, comm->world[static_cast<std::size_t>(peer)], tag,
             nccl_stand_in::ranks, &into.back());
    }
};

void fail_if_scripted(ncclComm* comm) {
    if (comm->operations != script().fail_at) return;
    if (script().fail_code == 0) {
        comm->gpu_fails = true;
        any_gpu_failure = true;
    } else
        comm->error = static_cast<ncclResult_t>(script().fail_code);
}

/// An operation that a graph does anew in each of its runs.
std::function<bool()> replay_of(const Exchange& captured, const CUstream_st& branch) {
    return [captured, &branch, now = std::shared_ptr<Exchange>(), is_in = captured.comm->graphs]() mutable {
        if (!now) {
            if (branch.captured_with != nullptr) wrong("a branch of a graph that was not joined");
            now = std::make_shared<Exchange>(captured);
            ++captured.comm->operations;
            ++seen().operations;
            fail_if_scripted(captured.comm);
        }
        if (!now->advance()) return false;
        now.reset();
        return true;
    };
}

ncclResult_t issue_group() {
    if (group.empty()) return ncclSuccess;
    auto calls = std::exchange(group, {});
    if (calls.size() > 1) ++seen().groups;
    auto* comm = calls.front().comm;
    if (comm->polls_left > 0 || comm->joining) {
        wrong("a call while the communicator is in progress");
        return ncclInvalidUsage;
    }
    ++comm->operations;
    ++seen().operations;
    if (comm->operations == script().refuse_at) return ncclInvalidArgument;
    auto exchange = std::make_shared<Exchange>();
    exchange->comm = comm;
    std::vector<std::function<void()>> finishes;
    int self_sends = 0;
    for (auto& call : calls) {
        for (const auto& piece : call.pieces)
            if (piece.peer == comm->rank) self_sends += piece.is_send ? 1 : -1;
        exchange->pieces.insert(exchange->pieces.end(), call.pieces.begin(), call.pieces.end());
        finishes.push_back(call.finish);
    }
    if (self_sends != 0) {
        wrong("a message of a rank to itself without its other side");
        return ncclInvalidUsage;
    }
    exchange->finish = [finishes] {
        for (const auto& finish : finishes)
            if (finish) finish();
    };
    auto& stream = *calls.front().stream;
    if (stream.captured_with != nullptr) {
        ++stream.captured;
        stream.captured_with->captured->push_back({"NCCL", replay_of(*exchange, stream)});
        if (comm->operations == script().fail_capture_at) return ncclSystemError;
        comm->polls_left = script().issue_polls;
        return comm->polls_left > 0 ? ncclInProgress : ncclSuccess;
    }
    fail_if_scripted(comm);
    comm->polls_left = script().issue_polls;
    calls.front().stream->used_by = comm;
    put_into(*calls.front().stream, [exchange] { return exchange->advance(); });
    return comm->polls_left > 0 ? ncclInProgress : ncclSuccess;
}

ncclResult_t add(ncclComm* comm, cudaStream_t stream, std::vector<Piece> pieces,
                 std::function<void()> finish = {}) {
    group.push_back({comm, &stream_of(stream), std::move(pieces), std::move(finish)});
    return group_depth > 0 ? ncclSuccess : issue_group();
}

std::size_t bytes_of(ncclDataType_t type) {
    switch (type) {
        case ncclFloat64:
        case ncclInt64:
        case ncclUint64:
            return 8;
        case ncclFloat32:
        case ncclInt32:
        case ncclUint32:
            return 4;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        default:
            return 1;
    }
}

char* mutable_bytes(const void* data) {
    return static_cast<char*>(const_cast<void*>(data));
}

template <class T, class Wide>
void reduce_as(const std::vector<char>& all, std::size_t count, std::size_t stride, std::size_t first,
               int size, ncclRedOp_t op, char* out) {
    for (std::size_t i = 0; i < count; ++i) {
        Wide result{};
        for (int rank = 0; rank < size; ++rank) {
            T value;
            std::memcpy(&value, all.data() + static_cast<std::size_t>(rank) * stride + first + i * sizeof(T),
                        sizeof(T));
            const auto wide = static_cast<Wide>(value);  // NOLINT(bugprone-signed-char-misuse): of int8
            if (rank == 0)
                result = wide;
            else if (op == ncclMin)
                result = std::min(result, wide);
            else if (op == ncclMax)
                result = std::max(result, wide);
            else if (op == ncclProd)
                result = static_cast<Wide>(result * wide);
            else
                result = static_cast<Wide>(result + wide);
        }
        if (op == ncclAvg) result = static_cast<Wide>(result / static_cast<Wide>(size));
        const auto value = static_cast<T>(result);
        std::memcpy(out + i * sizeof(T), &value, sizeof(T));
    }
}

void reduce(const std::vector<char>& all, std::size_t count, std::size_t stride, int size,
            ncclDataType_t type, ncclRedOp_t op, char* out) {
    switch (type) {
        case ncclFloat32:
            return reduce_as<float, float>(all, count, stride, 0, size, op, out);
        case ncclFloat64:
            return reduce_as<double, double>(all, count, stride, 0, size, op, out);
        case ncclFloat16:
            return reduce_as<dtrain::float16, float>(all, count, stride, 0, size, op, out);
        case ncclBfloat16:
            return reduce_as<dtrain::bfloat16, float>(all, count, stride, 0, size, op, out);
        case ncclInt32:
            return reduce_as<std::int32_t, std::int64_t>(all, count, stride, 0, size, op, out);
        case ncclInt8:
            return reduce_as<std::int8_t, std::int64_t>(all, count, stride, 0, size, op, out);
        case ncclUint32:
            return reduce_as<std::uint32_t, std::uint64_t>(all, count, stride, 0, size, op, out);
        case ncclUint64:
            return reduce_as<std::uint64_t, std::uint64_t>(all, count, stride, 0, size, op, out);
        case ncclInt64:
            return reduce_as<std::int64_t, std::int64_t>(all, count, stride, 0, size, op, out);
        default:
            return reduce_as<std::uint8_t, std::int64_t>(all, count, stride, 0, size, op, out);
    }
}

/// Each rank's block goes to all; `finish` gets all blocks.
ncclResult_t gather(ncclComm* comm, cudaStream_t stream, const Arguments& arguments, const void* send,
                    std::size_t bytes, bool blocks, std::function<void(const std::vector<char>&)> finish) {
    const auto size = static_cast<std::size_t>(comm->size);
    const auto all = std::make_shared<std::vector<char>>(bytes * size);
    std::vector<Piece> pieces;
    for (int peer = 0; peer < comm->size; ++peer) {
        auto* out = mutable_bytes(send) + (blocks ? bytes * static_cast<std::size_t>(peer) : 0);
        pieces.push_back({true, out, bytes, peer, arguments});
        pieces.push_back(
            {false, all->data() + bytes * static_cast<std::size_t>(peer), bytes, peer, arguments});
    }
    return add(comm, stream, std::move(pieces), [all, finish = std::move(finish)] { finish(*all); });
}

/// All tell the first id's root who they are, which tells all.
std::function<bool()> agreement(ncclComm* comm, const Id& id) {
    struct State {
        std::vector<int> mine;
        std::vector<std::vector<int>> received;
        std::vector<int> all;
        std::vector<MPI_Request> requests;
        int step = 0;
    };
    auto state = std::make_shared<State>();
    const int tag = comm->tag + 1;
    return [comm, id, state, tag] {
        auto& s = *state;
        const auto size = static_cast<std::size_t>(comm->size);
        const bool is_root = own_rank() == id.root;
        if (comm->size == 1 || nccl_stand_in::ranks == MPI_COMM_NULL) {
            comm->world.assign(1, own_rank());
            return true;
        }
        const auto is_complete = [&s] {
            int all = 1;
            MPI_Testall(static_cast<int>(s.requests.size()), s.requests.data(), &all, MPI_STATUSES_IGNORE);
            return all != 0;
        };
        if (s.step == 0) {
            s.step = 1;
            s.mine = {comm->rank, own_rank()};
            s.all.resize(size);
            s.requests.resize(is_root ? size + 1 : 2);
            MPI_Isend(s.mine.data(), 2, MPI_INT, id.root, tag, nccl_stand_in::ranks, &s.requests[0]);
            if (is_root) {
                s.received.assign(size, std::vector<int>(2));
                for (std::size_t i = 0; i < size; ++i)
                    MPI_Irecv(s.received[i].data(), 2, MPI_INT, MPI_ANY_SOURCE, tag, nccl_stand_in::ranks,
                              &s.requests[i + 1]);
            } else {
                MPI_Irecv(s.all.data(), comm->size, MPI_INT, id.root, tag, nccl_stand_in::ranks,
                          &s.requests[1]);
            }
        }
        if (!is_complete()) return false;
        if (s.step == 1 && is_root) {
            s.step = 2;
            s.requests.assign(size, MPI_REQUEST_NULL);
            for (const auto& one : s.received) s.all[static_cast<std::size_t>(one[0])] = one[1];
            for (std::size_t i = 0; i < size; ++i)
                if (s.all[i] != own_rank())
                    MPI_Isend(s.all.data(), comm->size, MPI_INT, s.all[i], tag, nccl_stand_in::ranks,
                              &s.requests[i]);
            if (!is_complete()) return false;
        }
        comm->world = s.all;
        return true;
    };
}

ncclResult_t join(ncclComm_t* made, int size, int rank, const ncclUniqueId* ids, int count,
                  const ncclConfig_t& config) {
    seen().blocking = config.blocking;
    seen().names.emplace_back(config.commName == NCCL_CONFIG_UNDEF_PTR ? "" : config.commName);
    seen().roots.clear();
    Id first{};
    for (int i = 0; i < count; ++i) {
        Id id;
        std::memcpy(&id, &ids[i], sizeof(id));
        if (std::strcmp(id.mark, "standin") != 0) return ncclInvalidArgument;
        seen().roots.push_back(id.root);
        if (i == 0) first = id;
    }
    seen().calls.emplace_back("join");
    if (script().join_fails) return ncclSystemError;
    auto* comm = new ncclComm;
    comm->rank = rank;
    comm->size = size;
    comm->tag = 3 * (first.root * 4096 + first.number);
    comm->polls_left = script().join_polls;
    comm->joining = agreement(comm, first);
    *made = comm;
    return ncclInProgress;
}

}  // namespace

void nccl_stand_in::put(void* stream, std::function<bool()> advance) {
    put_into(stream_of(static_cast<cudaStream_t>(stream)), std::move(advance));
}

extern "C" {

ncclResult_t __wrap_ncclGetUniqueId(ncclUniqueId* made) {
    static int number = 0;
    Id id{"standin", own_rank(), ++number};
    std::memset(made, 0, sizeof(*made));
    std::memcpy(made, &id, sizeof(id));
    return ncclSuccess;
}

const char* __wrap_ncclGetLastError(ncclComm_t) {
    return "as the script says";
}

ncclResult_t __wrap_ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                           ncclConfig_t* config) {
    return join(comm, size, rank, &id, 1, *config);
}

ncclResult_t __wrap_ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int count,
                                             ncclUniqueId* ids, ncclConfig_t* config) {
    return join(comm, size, rank, ids, count, *config);
}

ncclResult_t __wrap_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    *error = comm->error;
    if (comm->error != ncclSuccess) return ncclSuccess;
    *error = ncclInProgress;
    if (comm->polls_left > 0) --comm->polls_left;
    if (comm->polls_left > 0) return ncclSuccess;
    if (comm->joining) {
        if (!comm->joining()) return ncclSuccess;
        comm->joining = nullptr;
    }
    *error = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t __wrap_ncclCommFinalize(ncclComm_t comm) {
    seen().calls.emplace_back("finalize");
    if (comm->registered > 0) wrong("finalize with registered memory");
    comm->finalized = true;
    comm->polls_left = script().issue_polls;
    return comm->polls_left > 0 ? ncclInProgress : ncclSuccess;
}

ncclResult_t __wrap_ncclCommDestroy(ncclComm_t comm) {
    seen().calls.emplace_back("destroy");
    if (!comm->finalized || comm->polls_left > 0) wrong("destroy before finalize was done");
    if (comm->graphs.use_count() > 1) wrong("destroy while a graph has its operations");
    for (auto* stream : streams)
        if (stream->used_by == comm && !stream->queue.empty()) wrong("destroy with work under way");
    delete comm;
    return ncclSuccess;
}

ncclResult_t __wrap_ncclCommAbort(ncclComm_t comm) {
    while (script().abort_hangs) ::sleep(1);
    comm->aborted = true;
    while (comm->graphs.use_count() > 1 && !any_gpu_failure) ::usleep(1000);  // so does NCCL
    seen().calls.emplace_back("abort");
    return ncclSuccess;
}

ncclResult_t __wrap_ncclMemAlloc(void** data, std::size_t bytes) {
    if (script().memory_is_gone) return ncclUnhandledCudaError;
    seen().calls.emplace_back("allocate");
    const auto length = (bytes + 4095) / 4096 * 4096;
    *data = std::aligned_alloc(4096, length);
    std::memset(*data, 0xA5, length);
    memory[static_cast<char*>(*data)] = {length, device};
    return ncclSuccess;
}

ncclResult_t __wrap_ncclMemFree(void* data) {
    seen().calls.emplace_back("free");
    memory.erase(static_cast<char*>(data));
    std::free(data);
    return ncclSuccess;
}

ncclResult_t __wrap_ncclCommRegister(ncclComm_t comm, void* data, std::size_t, void** handle) {
    seen().calls.emplace_back("register");
    ++comm->registered;
    *handle = data;
    return ncclSuccess;
}

ncclResult_t __wrap_ncclCommDeregister(ncclComm_t comm, void* handle) {
    seen().calls.emplace_back("deregister");
    if (!memory.contains(static_cast<char*>(handle))) wrong("deregister of memory that was freed");
    --comm->registered;
    return ncclSuccess;
}

ncclResult_t __wrap_ncclGroupStart() {
    ++group_depth;
    return ncclSuccess;
}

ncclResult_t __wrap_ncclGroupEnd() {
    return --group_depth > 0 ? ncclSuccess : issue_group();
}

ncclResult_t __wrap_ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const auto bytes = count * bytes_of(type);
    const Arguments arguments{.name = Arguments::allreduce, .type = type, .reduction = op, .count = count};
    return gather(comm, stream, arguments, send, bytes, false, [=](const std::vector<char>& all) {
        reduce(all, count, bytes, comm->size, type, op, static_cast<char*>(receive));
    });
}

ncclResult_t __wrap_ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const auto bytes = count * bytes_of(type);
    const Arguments arguments{
        .name = Arguments::reduce_scatter, .type = type, .reduction = op, .count = count};
    return gather(comm, stream, arguments, send, bytes, true, [=](const std::vector<char>& all) {
        reduce(all, count, bytes, comm->size, type, op, static_cast<char*>(receive));
    });
}

ncclResult_t __wrap_ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream) {
    const Arguments arguments{.name = Arguments::all_gather, .type = type, .count = count};
    return gather(comm, stream, arguments, send, count * bytes_of(type), false,
                  [=](const std::vector<char>& all) { std::memcpy(receive, all.data(), all.size()); });
}

ncclResult_t __wrap_ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                  int root, ncclComm_t comm, cudaStream_t stream) {
    const auto bytes = count * bytes_of(type);
    const Arguments arguments{.name = Arguments::broadcast, .type = type, .root = root, .count = count};
    std::vector<Piece> pieces;
    if (comm->rank == root) {
        for (int peer = 0; peer < comm->size; ++peer)
            pieces.push_back({true, mutable_bytes(send), bytes, peer, arguments});
    }
    pieces.push_back({false, static_cast<char*>(receive), bytes, root, arguments});
    return add(comm, stream, std::move(pieces));
}

ncclResult_t __wrap_ncclSend(const void* data, std::size_t count, ncclDataType_t type, int peer,
                             ncclComm_t comm, cudaStream_t stream) {
    const Arguments arguments{.type = type, .count = count};
    return add(comm, stream, {{true, mutable_bytes(data), count * bytes_of(type), peer, arguments}});
}

ncclResult_t __wrap_ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream) {
    const Arguments arguments{.type = type, .count = count};
    return add(comm, stream, {{false, static_cast<char*>(data), count * bytes_of(type), peer, arguments}});
}

ncclResult_t __wrap_ncclGetVersion(int* version) {
    *version = script().version;
    return ncclSuccess;
}

cudaError_t __wrap_cudaDriverGetVersion(int* version) {
    *version = script().driver;
    return cudaSuccess;
}

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
    *count = script().gpus;
    return script().gpus > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t __wrap_cudaGetDevice(int* which) {
    *which = device;
    return cudaSuccess;
}

cudaError_t __wrap_cudaSetDevice(int which) {
    device = which;
    return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetStreamPriorityRange(int* min, int* greatest) {
    *min = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t __wrap_cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    *stream = new CUstream_st;
    streams.insert(*stream);
    return cudaSuccess;
}

cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream) {
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    *event = {};
    if (const auto computing = computing_of(stream)) {
        event->computing = computing;
        event->position = computing->done + computing->waiting.size();
        if (computing->captured != nullptr) event->captured_with = computing.get();
        return cudaSuccess;
    }
    auto& on = stream_of(stream);
    if (on.used_by != nullptr && on.used_by->polls_left > 0)
        wrong("work put into a stream while NCCL is in progress there");
    event->stream = &on;
    event->position = on.put;
    event->captured_with = on.captured_with;
    event->captured = on.captured;
    return cudaSuccess;
}

cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) {
    move_streams();
    if (event->captured_with != nullptr) wrong("a question for an event of a graph");
    if (any_gpu_failure) return cudaErrorIllegalAddress;
    return event->reached() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t __wrap_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (const auto computing = computing_of(stream)) {
        if (computing->captured != nullptr) {
            if (event->captured_with != computing.get())
                wrong("a captured stream waits for what is not captured");
            else if (event->stream != nullptr && event->stream->captured == event->captured)
                event->stream->captured_with = nullptr;  // joined
            return cudaSuccess;
        }
        computing->waiting.push_back({"wait", [then = *event] {
                                          move_streams();
                                          return then.reached();
                                      }});
        return cudaSuccess;
    }
    auto& on = stream_of(stream);
    if (on.used_by != nullptr && on.used_by->polls_left > 0)
        wrong("work put into a stream while NCCL is in progress there");
    if (event->captured_with != nullptr) {
        on.captured_with = event->captured_with;
        return cudaSuccess;
    }
    if (on.captured_with != nullptr) wrong("a branch of a graph that was not joined");
    put_into(on, [then = *event] { return then.reached(); });
    return cudaSuccess;
}

cudaError_t __wrap_cudaMalloc(void** data, std::size_t bytes) {
    const auto length = (std::max<std::size_t>(bytes, 1) + 4095) / 4096 * 4096;
    *data = std::aligned_alloc(4096, length);
    memory[static_cast<char*>(*data)] = {length, device};
    return cudaSuccess;
}

cudaError_t __wrap_cudaFree(void* data) {
    memory.erase(static_cast<char*>(data));
    std::free(data);
    return cudaSuccess;
}

cudaError_t __wrap_cudaMemset(void* data, int value, std::size_t bytes) {
    std::memset(data, value, bytes);
    return cudaSuccess;
}

cudaError_t __wrap_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* about, const void* pointer) {
    auto* byte = mutable_bytes(pointer);
    const auto after = memory.upper_bound(byte);
    *about = {};
    about->type = cudaMemoryTypeUnregistered;
    if (after == memory.begin()) return cudaSuccess;
    const auto& [begin, on_gpu] = *std::prev(after);
    if (byte >= begin + on_gpu.bytes) return cudaSuccess;
    about->type = cudaMemoryTypeDevice;
    about->device = on_gpu.device;
    return cudaSuccess;
}

}  // extern "C"
