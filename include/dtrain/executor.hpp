// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/compute_type.hpp>
#include <dtrain/device.hpp>
#include <dtrain/program.hpp>

namespace dtrain {

namespace program {
class ServerLink;
class StateAccess;
}  // namespace program

/// A persistable variable and its memory.
struct StateTensor {
    std::string name = {};
    Role role = Role::parameter;  ///< parameter or optimizer_state
    TensorView view = {};
};

/// What outlives a step: parameters and optimizer state, in one block of memory. Copies of a State share that
/// memory, so that a training and a test executor see the same parameters; it lives as long as any of them.
///
/// An executor on a GPU computes with a copy there, which belongs to the State. What either side has written
/// comes to the other when that one is about to use it: the next run() uploads what tensors() or find() gave
/// out for writing, and these bring what runs have computed. So a view shows, and may be written, until the
/// next run on a GPU; ask anew after it. There these functions, and all that read or write a State, throw
/// what Executor::fetch() throws of the steps before.
class State {
  public:
    /// Every persistable variable of the program at its initial value, which depends on (seed, name) alone.
    State(const Program& program, std::uint64_t seed);

    /// As above, with one copy for all ranks of a node of what a program with DataParallelOptions::one_copy
    /// updates: parameters and their optimizer state. Collective.
    /// @throws Error on all ranks when there is not enough shared memory
    State(const Program& program, std::uint64_t seed, const Communicator& communicator);

    /// Other ranks have the same parameters, not equal ones.
    bool is_shared() const;

    /// One of tensors() that all ranks of a node have together.
    bool shares(const StateTensor& tensor) const;

    /// All tensors in the order in which the program declares them: the same on every rank and in every run.
    const std::vector<StateTensor>& tensors() const;

    /// Nothing when there is no such tensor. The view stays valid as long as a copy of this State lives, but
    /// see above for GPUs.
    const StateTensor* find(std::string_view name) const;

    /// A copy of this State with memory of its own.
    State clone() const;

  private:
    friend class program::StateAccess;
    struct Content;
    std::shared_ptr<Content> content_;
};

/// Sets all tensors to those of `root`. Collective.
void broadcast(const State& state, const Communicator& communicator, int root = 0);

/// Sets all parameters to their averages over the ranks. After every k steps of programs that are not data
/// parallel this is local SGD (Stich, ICLR 2019), the documents' asynchronous collective mode, which
/// with_local_sgd() makes a part of the program; optimizer state stays each rank's own. Collective.
void average_parameters(const State& state, const Communicator& communicator);

/// A 64 bit checksum of names, shapes and bits of all parameters.
std::uint64_t parameters_checksum(const State& state);

/// True on all ranks when parameters_checksum() is the same on all of them. Collective.
bool parameters_are_identical(const State& state, const Communicator& communicator);

struct ExecutorOptions {
    /// None: what DTRAIN_DEVICE says ("cpu", "gpu", "gpu:1"); else the rank's GPU where a launcher gave it
    /// one (FLAGS_selected_gpus), or the CPU and a line on stderr why, where that cannot be; else the CPU. A
    /// State is on one GPU at most; an executor that is told no number computes on that one.
    std::optional<Device> device = {};
    /// On a GPU, with several ranks that add gradients: they are added by NCCL, in a communicator that the
    /// executor makes of the one that it is given. False: by MPI, through memory of the host, as sparse ones
    /// and those of virtual ranks always are.
    bool nccl = false;
    /// Threads for matrix products; 0 leaves the OpenMP runtime's choice (OMP_NUM_THREADS). A run repeats bit
    /// for bit with the same number.
    int threads = 0;
    /// False waits for every all-reduce where it starts: for measuring what overlapping gains.
    bool overlap = true;
    /// False keeps every variable of the program fetchable, at the price of a pass over memory per
    /// activation and element-wise operator.
    bool fuse = true;
    /// With fuse: element-wise operators that follow each other, each reading what one before it makes, run
    /// together, block by block. What only they read is never in memory as a whole, and cannot be fetched but
    /// for `keep`. The results have the same bits.
    bool fuse_chains = true;
    /// Variables that are never needed at the same time share memory. What a step overwrites cannot be
    /// fetched after it, but for `keep`. Not for programs of parameter servers; those of their trainers go
    /// with skip_grads.
    bool memory_optimize = false;
    /// With memory_optimize: gradients keep memory of their own.
    bool skip_grads = false;
    /// Variables that can be fetched whatever the other options save.
    std::vector<std::string> keep = {};
    /// Measures every operator, see profile(). Costs two looks at the clock per operator.
    bool profile = false;
    /// How many trainers the job has, and which one this is, where the program knows that from elsewhere (the
    /// documents' ParallelExecutor): they are compared with the communicator. None: not compared.
    std::optional<int> num_trainers = {};
    std::optional<int> trainer_id = {};
    /// Each rank of the communicator trains a model of its own, which is meant. False: with several ranks, a
    /// program that updates parameters and exchanges nothing (data_parallel(), with_virtual_ranks(),
    /// with_local_sgd()) is refused.
    bool updates_alone = false;
    /// Of fc, matmul and conv2d, and of their gradients. With float16 train a program of with_loss_scaling().
    ComputeType products = ComputeType::float32;
    /// Of a trainer with parameter servers: see ServerConnection.
    std::shared_ptr<program::ServerLink> servers = {};
};

/// What an operator has cost so far.
struct OperatorTime {
    std::string type = {};
    std::string result = {};  ///< name of the first variable that it makes
    std::int64_t calls = 0;
    std::chrono::nanoseconds total{0};
};

/// The virtual ranks from `begin` up to, without, `end`.
struct VirtualRanks {
    int begin = 0;
    int end = 0;

    int count() const { return end - begin; }
    friend bool operator==(const VirtualRanks&, const VirtualRanks&) = default;
};

/// A program compiled for this process' CPU or a GPU: prepared primitives over one block of memory. A step
/// allocates nothing (but what oneDNN does inside) and looks nothing up by name. Use from one thread, the one
/// that may call MPI.
///
/// On a GPU run() returns when it has read what was fed, and the GPU computes on. What it finds wrong with
/// the data (a label outside the classes) is thrown by whatever waits for it next, fetch() or the State, and
/// no update since then has changed anything. With several ranks that add gradients, run() waits for them.
class Executor {
  public:
    /// Compiles. Collective when the program is data parallel. The program's persistable variables must be in
    /// `state` with the same shape and type. When the program is data parallel, `communicator` must have as
    /// many ranks as it was made for.
    /// @throws ProgramError when state or communicator do not fit; UsageError when the communicator is not
    /// that of num_trainers and trainer_id, options.products wants what this CPU has not, see
    /// ComputeType, or there is no such GPU; ProgramError for what a GPU does not do.
    Executor(const Program& program, State state, Communicator communicator = {},
             const ExecutorOptions& options = {});
    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;
    ~Executor();

    /// Memory of a data variable, to be written before run(); [batch, ...] in C order. Valid as long as the
    /// executor lives; its content stays as it is until written again, so a caller may ask once.
    /// @throws ProgramError when the program has no such data variable or it has other elements.
    template <class Element>
    std::span<Element> feed(std::string_view name) {
        return fed(name, data_type_of<Element>).template as<Element>();
    }

    /// One step. Collective when the program is data parallel.
    /// @throws Error when a label is outside the classes (not on a GPU, see above); MpiError.
    void run();

    /// The part of a step that makes gradients, for one batch; they are added to those of the batches since
    /// the last update. Sparse ones need a program that was made for that number of batches. Not collective.
    /// Variables of the batch can be fetched. The first call allocates memory for the sums. With virtual
    /// ranks: the batch of the next virtual rank of this one.
    /// @throws Error when a label is outside the classes, or all virtual ranks of this one had their batch
    void accumulate();

    /// The rest of the step, with the gradients of all batches since the last one: run() is accumulate() and
    /// update(). Collective when the program is data parallel.
    /// @throws Error when there was no batch, or some virtual ranks of this one had none; MpiError.
    void update();

    /// Of a program of with_local_sgd(): sets parameters and optimizer state (float32; counters are the same
    /// anyhow) to their averages over the ranks, so that all have one model, to be evaluated, saved or gone
    /// on with: steps until the next average are counted from here. Nothing happens when no step was taken
    /// since the last time, and with other programs. Collective. @throws MpiError
    void average_state();

    /// Those whose batches this rank gives to accumulate(), one after the other. In a program without virtual
    /// ranks every rank is one.
    VirtualRanks virtual_ranks() const;

    /// Values of a variable after run(), in C order. Valid as long as the executor lives; the next run()
    /// changes them; on a GPU the next fetch() after it.
    /// @throws ProgramError when the program has no such variable, it has other elements, or was not kept.
    template <class Element = float>
    std::span<const Element> fetch(std::string_view name) const {
        return fetched(name, data_type_of<Element>).template as<Element>();
    }

    /// fetch() of a variable of one element.
    template <class Element = float>
    Element fetch_scalar(std::string_view name) const {
        return fetched_scalar(name, data_type_of<Element>).template as<Element>().front();
    }

    const State& state() const;

    /// The program as it runs, after the executor's own passes.
    const Program& program() const;

    /// What it computes on: "CPU", "GPU 0, NVIDIA H200".
    std::string device() const;

    /// Memory for everything that a step makes; parameters and optimizer state are the State's.
    std::size_t memory_bytes() const;

    /// A row for each step of the compiled program, in the order in which they run; with
    /// ExecutorOptions::profile calls and times since it was compiled.
    std::vector<OperatorTime> profile() const;

    /// How long this rank has exchanged data with other ranks or parameter servers since it was compiled:
    /// what steps waited for that is in it, what went on beside computing is not.
    std::chrono::nanoseconds exchange_time() const;

    /// False when exchange_time() lacks sums over ranks that are a part of a GPU's graph of a step: nobody
    /// sees how long these take.
    bool sees_exchanges() const;

  private:
    TensorView fed(std::string_view name, DataType type) const;
    TensorView fetched(std::string_view name, DataType type) const;
    TensorView fetched_scalar(std::string_view name, DataType type) const;

    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
