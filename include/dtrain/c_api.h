/* SPDX-FileCopyrightText: dtrain contributors */
/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/// @file
/// The communicators of dtrain for C and for languages that call C: what dtrain/communicator.hpp,
/// shared_buffer.hpp, mpi_session.hpp and spawn.hpp do, with handles in place of objects.
///
/// Every function that can fail returns a ::dtrain_status; dtrain_last_error() then says more. No exception
/// leaves a function. What is said of order, lengths and threads in dtrain/communicator.hpp holds here too:
/// all ranks call collective functions in the same order, and one thread at a time may be in one of them; a
/// second thread that enters one meanwhile gets DTRAIN_USAGE_ERROR. Numbers of enumerators are never reused.
///
/// Operations take a dtrain_request*. NULL: the function returns when the operation is complete. Otherwise
/// it returns at once and the operation is complete when dtrain_wait() or dtrain_test() says so; until then
/// its buffers belong to it.
///
///     dtrain_init();
///     float values[2] = {1, 2};
///     if (dtrain_all_reduce(DTRAIN_WORLD, values, 2, DTRAIN_FLOAT32, DTRAIN_SUM, NULL) != DTRAIN_OK)
///         fprintf(stderr, "%s\n", dtrain_last_error()->message);
///     dtrain_finish();

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using): C has only typedef

/// What a function returns.
enum dtrain_status {
    DTRAIN_OK = 0,
    DTRAIN_ERROR = 1,             ///< dtrain::Error: a contract was broken, ranks do not call the same
    DTRAIN_USAGE_ERROR = 2,       ///< dtrain::UsageError: a value or a variable is not valid
    DTRAIN_MPI_ERROR = 3,         ///< dtrain::MpiError: a call of MPI failed
    DTRAIN_VERSION_MISMATCH = 4,  ///< dtrain::VersionMismatch: ranks run different versions of dtrain
    DTRAIN_TIMEOUT = 5,           ///< dtrain::CommunicatorTimeout: other ranks did not come in time, or ended
    DTRAIN_NO_MEMORY = 6,         ///< std::bad_alloc
    DTRAIN_SPAWN_ERROR = 7,       ///< dtrain::SpawnError: a rank that was started failed
    DTRAIN_INTERNAL_ERROR = 8     ///< any other exception
};

/// Types of elements that can be reduced.
enum dtrain_type {
    DTRAIN_FLOAT32 = 0,
    DTRAIN_FLOAT64 = 1,
    DTRAIN_FLOAT16 = 2,
    DTRAIN_BFLOAT16 = 3,
    DTRAIN_INT32 = 4,
    DTRAIN_INT64 = 5,
    DTRAIN_UINT8 = 6,
    DTRAIN_INT8 = 7,
    DTRAIN_INT16 = 8,
    DTRAIN_UINT16 = 9,
    DTRAIN_UINT32 = 10,
    DTRAIN_UINT64 = 11
};

/// How the ranks' values are combined: dtrain::Reduction. Bits are combined of integers only: otherwise
/// DTRAIN_USAGE_ERROR, before anything is sent.
enum dtrain_reduction {
    DTRAIN_SUM = 0,
    DTRAIN_AVERAGE = 1,
    DTRAIN_MIN = 2,
    DTRAIN_MAX = 3,
    DTRAIN_PRODUCT = 4,
    DTRAIN_BIT_AND = 5,
    DTRAIN_BIT_OR = 6,
    DTRAIN_BIT_XOR = 7
};

/// A communicator. Numbers of those that were freed are not used again.
typedef int dtrain_comm;
/// An operation under way; 0: none, or complete.
typedef uint64_t dtrain_request;
/// Memory that the ranks of a node share.
typedef uint64_t dtrain_buffer;
/// Ranks that were started by dtrain_spawn().
typedef uint64_t dtrain_spawned;

/// The communicator of all ranks, from dtrain_init() to dtrain_finish().
enum { DTRAIN_WORLD = 0 };
/// The communicator of a rank that is not in a group.
enum { DTRAIN_NO_COMM = -1 };

/// A rank that others waited for: dtrain::MissingRank.
typedef struct dtrain_missing_rank {
    int rank;         ///< in the communicator that waited
    const char* why;  ///< "in no operation; its last one was number 41"
} dtrain_missing_rank;

/// Why a function failed.
typedef struct dtrain_error {
    int status;               ///< ::dtrain_status
    const char* message;      ///< one line that is safe to print
    int mpi_code;             ///< DTRAIN_MPI_ERROR: what MPI returned; else 0
    int rank;                 ///< DTRAIN_SPAWN_ERROR: the rank that failed, or -1; else -1
    const char* operation;    ///< DTRAIN_TIMEOUT: "allreduce"; else ""
    uint64_t number;          ///< DTRAIN_TIMEOUT: of the operation within its communicator, from 1
    double waited;            ///< DTRAIN_TIMEOUT: seconds
    size_t missing_count;     ///< DTRAIN_TIMEOUT: length of `missing`
    const dtrain_missing_rank* missing;  ///< DTRAIN_TIMEOUT: those that it waited for
} dtrain_error;

/// Where a rank is in a communicator.
typedef struct dtrain_comm_info {
    int rank;       ///< from 0
    int size;       ///< number of ranks
    int node_rank;  ///< among the ranks of this node
    int node_size;  ///< ranks of this node
    int node;       ///< number of this node, from 0
    int nodes;      ///< number of nodes
} dtrain_comm_info;

/// "major.minor.patch", with "-dev" before its release. Static.
const char* dtrain_version(void);

/// The error of the last function that failed in this thread; never NULL. Valid until another one fails in
/// this thread.
const dtrain_error* dtrain_last_error(void);

/// Makes this process a rank: under a launcher (dtrain-launch, mpirun, srun) MPI is initialised, without one
/// it is a world of one rank that never calls MPI. As dtrain::ParallelEnv. Where MPI was initialised before,
/// by the program or by mpi4py, its ranks are the world, and who initialised it finalises it. Collective.
///
/// A process that ends without dtrain_finish() finalises MPI if its exit status is 0. Otherwise, and after
/// a DTRAIN_TIMEOUT, the other ranks are ended with its status, or with 1 if that is 0.
int dtrain_init(void);

/// Ends what dtrain_init() began: frees all communicators and all memory of dtrain_allocate(), and finalises
/// MPI. Collective. Nothing may be under way.
int dtrain_finish(void);

/// 1 between dtrain_init() and dtrain_finish(), else 0.
int dtrain_is_initialised(void);

/// Ends all ranks of the job with this status if MPI is running, else this process. Does not return.
void dtrain_abort(int status);

/// Leaves in the error file of this rank why it is about to fail, for the report of dtrain-launch. The first
/// error of a process stays.
/// @param kind the exception's type, "ValueError" @param message what it says
int dtrain_report_error(const char* kind, const char* message);

/// @param info receives the numbers
int dtrain_comm_get_info(dtrain_comm comm, dtrain_comm_info* info);

/// One line: how many ranks on how many nodes, and which transports they use.
/// @param text receives it, terminated by 0 and cut off to fit @param size of `text` in bytes
int dtrain_comm_describe(dtrain_comm comm, char* text, size_t size);

/// Ranks of the same color (0 or more) form a communicator, ordered by key and then by rank. Collective.
int dtrain_comm_split(dtrain_comm comm, int color, int key, dtrain_comm* part);

/// A communicator of the ranks that are listed, in that order. Collective over all ranks of `comm`, which all
/// pass the same list.
/// @param group receives DTRAIN_NO_COMM on ranks that are not listed
int dtrain_comm_group(dtrain_comm comm, const int* ranks, size_t count, dtrain_comm* group);

/// The same, but collective over the listed ranks only; the others do not call it. All pass the same list and
/// tag. A listed rank that does not come in time is a DTRAIN_TIMEOUT.
/// @param tag 0 to 32767; keeps groups apart that ranks make at the same time
int dtrain_comm_of(dtrain_comm parent, const int* ranks, size_t count, int tag, dtrain_comm* group);

/// A communicator of the ranks of this rank's node. Collective.
int dtrain_comm_node_local(dtrain_comm comm, dtrain_comm* node);

/// How long operations of this communicator wait for other ranks, from now on. At first it is
/// DTRAIN_COMM_TIMEOUT. Not collective. @param seconds 0: without limit
int dtrain_comm_set_timeout(dtrain_comm comm, double seconds);

/// What reports of hangs call this communicator in place of its ranks, "dp": the same in all its ranks. Not
/// collective.
int dtrain_comm_set_name(dtrain_comm comm, const char* name);

/// Whether this process records its operations, as those of a job under dtrain-launch do: 1 or 0.
int dtrain_records_operations(void);

/// The line of the program that the next operations of this thread come from, for reports of hangs:
/// "train.py:88"; "": unknown.
int dtrain_note_source(const char* line);

/// Frees a communicator other than DTRAIN_WORLD. Collective over its ranks. Nothing may be under way.
int dtrain_comm_free(dtrain_comm comm);

/// A fresh name for dtrain_node_comm() that nobody can guess. One rank makes it and passes it to the others.
/// @param name receives it, terminated by 0 @param size of `name` in bytes: 33 at least
int dtrain_node_comm_name(char* name, size_t size);

/// A communicator of processes of one machine that calls no MPI: dtrain::node_communicator(). It needs no
/// dtrain_init(), which may come before it, later or not at all; without one MPI is never initialised, and
/// dtrain_finish() and the end of the process end these communicators alone. A rank whose process ends is a
/// DTRAIN_TIMEOUT of the others that names it. Collective; dtrain_comm_free() of it is not.
/// @param name what the ranks find each other by, the same on all: 1 to 200 letters, digits, "-", "_", "."
/// @param timeout how long to wait for the other ranks, in seconds
int dtrain_node_comm(const char* name, int rank, int size, double timeout, dtrain_comm* comm);

/// Complete when all ranks have entered.
int dtrain_barrier(dtrain_comm comm, dtrain_request* request);

/// Sends root's bytes to all ranks.
int dtrain_broadcast(dtrain_comm comm, void* buffer, size_t bytes, int root, dtrain_request* request);

/// Reduces element by element over ranks, in place. @param type ::dtrain_type
/// @param reduction ::dtrain_reduction
int dtrain_all_reduce(dtrain_comm comm, void* buffer, size_t count, int type, int reduction,
                      dtrain_request* request);

/// dtrain_all_reduce() for those who need the result on root only: elsewhere the contents of `buffer` are
/// unspecified afterwards.
int dtrain_reduce(dtrain_comm comm, void* buffer, size_t count, int type, int reduction, int root,
                  dtrain_request* request);

/// Reduces `in`, which has a block of `count` elements for each rank; rank r receives block r in `out`. They
/// must not overlap.
int dtrain_reduce_scatter(dtrain_comm comm, const void* in, void* out, size_t count, int type, int reduction,
                          dtrain_request* request);

/// Gathers all ranks' blocks in rank order. @param bytes of `mine` on each rank
int dtrain_all_gather(dtrain_comm comm, const void* mine, size_t bytes, void* all, dtrain_request* request);

/// dtrain_all_gather() of blocks of different lengths. @param bytes_of_ranks the same on every rank
int dtrain_all_gather_uneven(dtrain_comm comm, const void* mine, const size_t* bytes_of_ranks, void* all,
                             dtrain_request* request);

/// Block r of `out` goes to rank r, block r of `in` comes from rank r. They must not overlap.
/// @param bytes of one block
int dtrain_all_to_all(dtrain_comm comm, const void* out, void* in, size_t bytes, dtrain_request* request);

/// dtrain_all_to_all() of blocks of different lengths, one after the other. What rank a sends to rank b is as
/// long as what b receives from a.
int dtrain_all_to_all_uneven(dtrain_comm comm, const void* out, const size_t* out_bytes, void* in,
                             const size_t* in_bytes, dtrain_request* request);

/// Gathers all ranks' blocks in rank order on root.
/// @param bytes of `mine` @param all receives them; used on root only
/// @param bytes_of_ranks lengths of the blocks; used on root only; NULL: `bytes` each
int dtrain_gather(dtrain_comm comm, const void* mine, size_t bytes, void* all, const size_t* bytes_of_ranks,
                  int root, dtrain_request* request);

/// Sends block r of root's `all` to rank r.
/// @param all used on root only @param bytes_of_ranks lengths of the blocks; used on root only; NULL:
/// `bytes` each @param bytes of `mine`
int dtrain_scatter(dtrain_comm comm, const void* all, const size_t* bytes_of_ranks, void* mine, size_t bytes,
                   int root, dtrain_request* request);

/// Sends a message. The receiver names the same length and tag. @param tag 0 to 32767
int dtrain_send(dtrain_comm comm, const void* values, size_t bytes, int to, int tag, dtrain_request* request);

/// Receives a message of this length from this rank. @param tag 0 to 32767
int dtrain_receive(dtrain_comm comm, void* values, size_t bytes, int from, int tag, dtrain_request* request);

/// dtrain_receive() from whichever rank has sent a message of this length and tag.
/// @param from receives the rank of the sender when the operation is complete, and stays valid until then
int dtrain_receive_any(dtrain_comm comm, void* values, size_t bytes, int tag, int* from,
                       dtrain_request* request);

/// Progresses the operation. @param is_complete receives 1 once it is complete, and `request` is 0 then
int dtrain_test(dtrain_request* request, int* is_complete);

/// Waits until the operation is complete; `request` is 0 afterwards, also if it failed.
int dtrain_wait(dtrain_request* request);

/// dtrain_wait() for at most so many seconds, or some milliseconds more. @param is_complete receives 0 if the
/// time was over first: the operation goes on, and `request` stays valid
int dtrain_wait_for(dtrain_request* request, double seconds, int* is_complete);

/// Memory that the ranks of a node share and for which operations are fastest: dtrain::SharedBuffer. Zeroed,
/// aligned to 4096 bytes; ranks may ask for different lengths. It stays when `comm` is freed, until
/// dtrain_buffer_free() or dtrain_finish(). Collective.
/// @param data receives the address of this rank's part
int dtrain_allocate(dtrain_comm comm, size_t bytes, dtrain_buffer* buffer, void** data);

/// Another rank's part. @param data NULL if the rank is on another node @param bytes its length
int dtrain_buffer_of_rank(dtrain_buffer buffer, int rank, void** data, size_t* bytes);

/// Gives up this rank's use of the memory: its own and other ranks' parts may not be used afterwards. Not
/// collective, and possible in any thread at any time. Memory that all ranks have given up is freed when they
/// allocate again.
int dtrain_buffer_free(dtrain_buffer buffer);

/// How many ranks dtrain_spawn() starts: dtrain::SpawnOptions. NULL stands for the default.
typedef struct dtrain_spawn_options {
    int nprocs;           ///< -1: one for each visible GPU, or without GPUs for each core
    const char* gpus;     ///< "4,5"
    const char* backend;  ///< "auto", "nccl" or "gloo"
    const char* log_dir;  ///< folder for the output of the ranks
} dtrain_spawn_options;

/// Starts a program as ranks of this machine, by dtrain-launch. In them dtrain_spawned_arguments() gives the
/// bytes that are passed here. They end with the process that started them.
/// @param program file and arguments, ends with NULL @param nprocs receives the number of ranks
int dtrain_spawn(const char* const* program, const void* arguments, size_t bytes,
                 const dtrain_spawn_options* options, dtrain_spawned* ranks, int* nprocs);

/// Waits until all ranks have ended. @param timeout in seconds; negative: none
/// @param have_ended receives 0 if the time was over first
/// @returns DTRAIN_SPAWN_ERROR if a rank failed
int dtrain_spawn_join(dtrain_spawned ranks, double timeout, int* have_ended);

/// What a rank passed to dtrain_spawned_result(). Waits as dtrain_spawn_join() does.
/// @param data valid until dtrain_spawn_free()
int dtrain_spawn_result(dtrain_spawned ranks, int rank, const void** data, size_t* bytes);

/// A folder for files that ranks leave for the process that started them.
/// @param path valid, and the folder there, until dtrain_spawn_free()
int dtrain_spawn_folder(dtrain_spawned ranks, const char** path);

/// Stops the ranks that are still running.
int dtrain_spawn_free(dtrain_spawned ranks);

/// 1 in a process that dtrain_spawn() started, else 0.
int dtrain_is_spawned(void);

/// In a rank of dtrain_spawn(): the bytes that were passed to it. @param data valid until the process ends
int dtrain_spawned_arguments(const void** data, size_t* bytes);

/// In a rank of dtrain_spawn(): the folder that dtrain_spawn_folder() gives there. @param path valid until the
/// process ends
int dtrain_spawned_folder(const char** path);

/// In a rank of dtrain_spawn(): what dtrain_spawn_result() gives there. A rank that ends without it failed.
int dtrain_spawned_result(const void* data, size_t bytes);

/// In a rank of dtrain_spawn(): why it is about to end with a status other than 0.
/// @param kind the exception's type, "ValueError" @param message what it says
int dtrain_spawned_failure(const char* kind, const char* message);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}
#endif
