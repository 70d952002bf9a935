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

namespace detail {
class ServerLink;
class StateAccess;
}  // namespace detail

/// A persistable variable and its memory.
struct StateTensor {
    std::string name = {};        ///< of the variable
    Role role = Role::parameter;  ///< parameter, optimizer_state or metric
    TensorView view = {};         ///< its shape, type and memory
};

/// The variables that outlive a step: parameters and optimizer state, in one block of memory. Copies of a
/// State share that memory, so that a training and a test executor see the same parameters; it lives as long
/// as any copy.
///
/// An executor on a GPU works on a device copy that belongs to the State. Each side is synchronised when it
/// is about to be used: the next run() uploads what tensors() or find() returned for writing, and these
/// functions download what runs have computed. So a view is valid, and may be written, until the next run on
/// a GPU; request it again after that. On a GPU these functions, and all that read or write a State, throw
/// what Executor::fetch() throws about earlier steps.
class State {
  public:
    /// Every persistable variable of the program at its initial value, which depends only on (seed, name).
    State(const Program& program, std::uint64_t seed);

    /// As above, but all ranks of a node share one copy of what a program with DataParallelOptions::one_copy
    /// updates: parameters and their optimizer state. Collective.
    /// @throws Error on all ranks if there is not enough shared memory
    State(const Program& program, std::uint64_t seed, const Communicator& communicator);

    /// True if other ranks use the same memory for their parameters, not only equal values.
    bool is_shared() const;

    /// True for a tensor of tensors() whose memory all ranks of a node share.
    bool shares(const StateTensor& tensor) const;

    /// All tensors in the order in which the program declares them: the same on every rank and in every run.
    const std::vector<StateTensor>& tensors() const;

    /// Null if there is no such tensor. The view stays valid as long as a copy of this State lives; for GPUs
    /// see above.
    const StateTensor* find(std::string_view name) const;

    /// A copy of this State with memory of its own.
    State clone() const;

  private:
    friend class detail::StateAccess;
    struct Content;
    std::shared_ptr<Content> content_;
};

/// Sets all tensors to those of `root`. Collective.
void broadcast(const State& state, const Communicator& communicator, int root = 0);

/// Sets all parameters to their averages over the ranks. Called every k steps of programs that are not data
/// parallel, this is local SGD (Stich, ICLR 2019), Paddle's asynchronous collective mode, which
/// with_local_sgd() makes part of the program; optimizer state stays separate on each rank. Collective.
void average_parameters(const State& state, const Communicator& communicator);

/// A 64-bit checksum of names, shapes and bits of all parameters.
std::uint64_t parameters_checksum(const State& state);

/// True on all ranks if parameters_checksum() is the same on all of them. Collective.
bool parameters_are_identical(const State& state, const Communicator& communicator);

/// How a program is compiled and run.
struct ExecutorOptions {
    /// None: the device of DTRAIN_DEVICE ("cpu", "gpu", "gpu:1"); else the rank's GPU if a launcher assigned
    /// one (FLAGS_selected_gpus), or the CPU with the reason on stderr if that GPU cannot be used; else the
    /// CPU. A State is on at most one GPU; an executor without a GPU number uses that one.
    std::optional<Device> device = {};
    /// On a GPU, with several ranks that sum gradients: sum them through NCCL, in a communicator that the
    /// executor derives from the given one. False: through MPI and host memory, which is always used for
    /// sparse gradients and those of virtual ranks.
    bool nccl = false;
    /// Threads for matrix products; 0 leaves the choice to the OpenMP runtime (OMP_NUM_THREADS). With the
    /// same number a run is reproducible bit for bit.
    int threads = 0;
    /// False waits for every all-reduce where it starts: for measuring the gain of overlapping.
    bool overlap = true;
    /// False keeps every variable of the program fetchable, at the cost of a pass over memory per activation
    /// and element-wise operator.
    bool fuse = true;
    /// With fuse: consecutive element-wise operators, each reading the output of an earlier one, run
    /// together, block by block. Variables that only they read are never in memory as a whole and cannot be
    /// fetched, except for `keep`. Results are bitwise identical.
    bool fuse_chains = true;
    /// Variables that are never needed at the same time share memory. Variables that are overwritten within a
    /// step cannot be fetched after it, except for `keep`. Not for programs of parameter servers; programs of
    /// their trainers require skip_grads.
    bool memory_optimize = false;
    /// With memory_optimize: gradients keep separate memory.
    bool skip_grads = false;
    /// Variables that can be fetched regardless of the other options.
    std::vector<std::string> keep = {};
    /// Measures every operator, see profile(). Costs two clock reads per operator.
    bool profile = false;
    /// Number of trainers of the job, and which one this is, if the program knows them from elsewhere
    /// (Paddle's ParallelExecutor): they are compared with the communicator. None: not compared.
    std::optional<int> num_trainers = {};
    std::optional<int> trainer_id = {};  ///< number of this trainer, from 0
    /// Set if each rank of the communicator is meant to train its own model. False: with several ranks, a
    /// program that updates parameters and exchanges nothing (data_parallel(), with_virtual_ranks(),
    /// with_local_sgd()) is refused.
    bool updates_alone = false;
    /// Of fc, matmul and conv2d, and of their gradients. With float16 train a program of with_loss_scaling().
    ComputeType products = ComputeType::float32;
    /// Connection of a trainer to parameter servers: see ServerConnection.
    std::shared_ptr<detail::ServerLink> servers = {};
};

/// Accumulated time of an operator.
struct OperatorTime {
    std::string type = {};              ///< of the operator
    std::string result = {};            ///< name of its first output variable
    std::int64_t calls = 0;             ///< how often it was run
    std::chrono::nanoseconds total{0};  ///< time of all calls
};

/// The virtual ranks from `begin` up to, but excluding, `end`.
struct VirtualRanks {
    int begin = 0;  ///< the first one
    int end = 0;    ///< behind the last one

    /// How many they are.
    int count() const { return end - begin; }
    friend bool operator==(const VirtualRanks&, const VirtualRanks&) = default;
};

/// A program compiled for this process' CPU or a GPU: prepared primitives over one block of memory. A step
/// does not allocate memory (except inside oneDNN) and looks nothing up by name. Use from one thread, the one
/// that may call MPI.
///
/// On a GPU run() returns once it has read the fed data, and the GPU continues to compute. Errors in the data
/// that it finds (a label outside the classes) are thrown by the next call that waits for it, fetch() or the
/// State, and updates after such an error have no effect. With several ranks that sum gradients, run() waits
/// for the sums.
class Executor {
  public:
    /// Compiles. Collective if the program is data parallel. The program's persistable variables must be in
    /// `state` with the same shape and type. If the program is data parallel, `communicator` must have as
    /// many ranks as the program was made for.
    /// @throws ProgramError if state or communicator do not match; UsageError if the communicator does not
    /// match num_trainers and trainer_id, this CPU lacks what options.products requires (see ComputeType), or
    /// there is no such GPU; ProgramError for operators that a GPU does not support.
    Executor(const Program& program, State state, Communicator communicator = {},
             const ExecutorOptions& options = {});
    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;
    ~Executor();

    /// Memory of a data variable, to be written before run(); [batch, ...] in C order. Valid as long as the
    /// executor lives; its contents stay until written again, so it may be requested once.
    /// @throws ProgramError if the program has no such data variable or it has another element type.
    template <TensorElement Element>
    std::span<Element> feed(std::string_view name) {
        return fed(name, data_type_of<Element>).template as<Element>();
    }

    /// Runs one step. Collective if the program is data parallel.
    /// @throws Error if a label is outside the classes (not on a GPU, see above); MpiError.
    void run();

    /// The part of a step that computes gradients, for one batch; they are added to those of the batches
    /// since the last update. Sparse gradients need a program that was made for that number of batches. Not
    /// collective. Variables of the batch can be fetched. The first call allocates memory for the sums. With
    /// virtual ranks: the batch of this rank's next virtual rank.
    /// @throws Error if a label is outside the classes, or all virtual ranks of this rank have had their
    /// batch
    void accumulate();

    /// The rest of the step, with the gradients of all batches since the last update: run() is accumulate()
    /// followed by update(). Collective if the program is data parallel.
    /// @throws Error if there was no batch, or some virtual ranks of this rank had none; MpiError.
    void update();

    /// For programs of with_local_sgd(): sets parameters and optimizer state (float32; counters are equal
    /// anyway) to their averages over the ranks, so that all ranks have one model, to be evaluated, saved or
    /// trained further: steps until the next average are counted from here. Does nothing if no step was taken
    /// since the last call, and for other programs. Collective. @throws MpiError
    void average_state();

    /// The virtual ranks whose batches this rank passes to accumulate(), one after the other. In a program
    /// without virtual ranks every rank is one.
    VirtualRanks virtual_ranks() const;

    /// Values of a variable after run(), in C order. Valid as long as the executor lives; the next run()
    /// changes them; on a GPU the next fetch() after it does.
    /// @throws ProgramError if the program has no such variable, it has another element type, or was not
    /// kept.
    template <TensorElement Element = float>
    std::span<const Element> fetch(std::string_view name) const {
        return fetched(name, data_type_of<Element>).template as<Element>();
    }

    /// fetch() of a variable of one element.
    template <TensorElement Element = float>
    Element fetch_scalar(std::string_view name) const {
        return fetched_scalar(name, data_type_of<Element>).template as<Element>().front();
    }

    /// The state that the executor works on.
    const State& state() const;

    /// The program that runs, after the executor's own passes.
    const Program& program() const;

    /// Name of its device: "CPU", "GPU 0, NVIDIA H200".
    std::string device() const;

    /// Bytes of memory for all variables of a step; parameters and optimizer state belong to the State.
    std::size_t memory_bytes() const;

    /// A row for each step of the compiled program, in execution order; with ExecutorOptions::profile
    /// including calls and times since it was compiled.
    std::vector<OperatorTime> profile() const;

    /// Time that this rank has spent exchanging data with other ranks or parameter servers since it was
    /// compiled: includes time that steps waited, not what overlapped with computing.
    std::chrono::nanoseconds exchange_time() const;

    /// False if exchange_time() lacks reductions that are part of a GPU's captured graph of a step: their
    /// time cannot be measured.
    bool sees_exchanges() const;

  private:
    TensorView fed(std::string_view name, DataType type) const;
    TensorView fetched(std::string_view name, DataType type) const;
    TensorView fetched_scalar(std::string_view name, DataType type) const;

    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
