// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

/// Pure functions that rewrite programs.
namespace dtrain {

/// Options of data_parallel().
struct DataParallelOptions {
    int ranks = 1;  ///< size of the communicator that the program will run with
    /// A bucket is closed once it has reached this size. 0 makes one bucket per gradient.
    std::int64_t bucket_bytes = 1 << 20;
    /// Batches that each rank passes to Executor::accumulate() before an update; the gradients are averaged
    /// over them, too.
    int micro_batches = 1;
    /// The ranks of a node share one copy of parameters and optimizer state (a State created with their
    /// communicator), and each rank updates its shard of them right after reducing the gradients of that
    /// shard. Saves memory and the distribution of the sums to all ranks; but nothing is exchanged before the
    /// backward pass is finished.
    bool one_copy = false;
};

/// Changes a training program so that its gradients are the average over `virtual_ranks` virtual ranks. The
/// virtual ranks are distributed over the available real ranks, and their gradients are added in the order of
/// a fixed binary tree: any number of ranks from 1 to virtual_ranks gives bitwise identical results, on CPUs
/// of the same kind and with the same number of threads. Virtual rank v of K is fed the v-th of K parts of
/// the global batch. Sparse gradients are added row by row in the order of the virtual ranks.
/// @throws ProgramError if virtual_ranks is below 1 or the program has no gradients or is already data
/// parallel.
Program with_virtual_ranks(const Program& program, int virtual_ranks);

/// Changes a training program (after minimize()) so that it averages its gradients over ranks: groups the
/// gradients that updates read into buckets in the order in which they are computed, appends
/// `allreduce_start` after the last gradient of a bucket and `allreduce_wait` before the first operator that
/// reads one. The gradient of the loss itself becomes 1/ranks, so that the sums are the averages. Sparse
/// gradients are gathered from all ranks and added row by row, in the order of ranks and batches: GRADIENT is
/// then the sum, with the rows of all batches, and GRADIENT.local is the gradient of one batch. With one rank
/// and one batch the program is unchanged.
/// @throws ProgramError if ranks is below 1 or the program has no gradients or is already data parallel; with
/// one_copy also if anything but updates reads the gradients (clipping by norm).
Program data_parallel(const Program& program, const DataParallelOptions& options);

/// Options of with_local_sgd().
struct LocalSgd {
    int ranks = 1;           ///< size of the communicator that the program will run with
    std::int64_t every = 1;  ///< steps that a rank takes by itself before parameters are averaged
};

/// Changes a training program (after minimize()) to local SGD (Stich, ICLR 2019), Paddle's asynchronous
/// collective mode: each rank updates with the gradients of its own batches, and nothing is exchanged until,
/// `every` steps after the last average, the operator `average_parameters` at the end of a step sets the
/// parameters to their averages over the ranks. Optimizer state stays separate on each rank. Clipping applies
/// to a rank's own gradients. Call Executor::average_state(), collective, before parameters are evaluated or
/// saved. With every = 1, SGD or Momentum, and without clipping it equals data_parallel() except for
/// rounding. With one rank the program is unchanged. Cannot be combined with data_parallel() or
/// with_virtual_ranks().
/// @throws ProgramError if ranks or every are below 1; if the program updates nothing, or is already data
/// parallel or already scales its loss; for parameters that are not float32; for FTRL, which computes
/// parameters from its state alone.
Program with_local_sgd(const Program& program, const LocalSgd& options);

/// Factors for the loss while gradients are computed: powers of two, so that scaling does not round.
struct LossScaling {
    double first = 65536;  ///< initial scale, unless a checkpoint has another one
    double growth = 2;     ///< factor after growth_steps good steps; 1: never grows
    double backoff = 0.5;  ///< factor after a step with a gradient that is not finite
    /// steps without an infinite or NaN gradient after which the scale grows
    std::int64_t growth_steps = 2000;
};

/// Variables that with_loss_scaling() adds: the scale (float32, can be fetched like any variable), the number
/// of good steps since it last changed (int64), both optimizer state, and whether this step is skipped
/// (int64, 1 or 0).
inline constexpr const char* loss_scale_name = "loss_scale";
/// Number of good steps since the scale last changed.
inline constexpr const char* loss_scale_steps_name = "loss_scale.good_steps";
inline constexpr const char* loss_scale_skip_name = "loss_scale.skip";  ///< 1 if this step is skipped.

/// Changes a training program (after minimize()) for float16 products, whose range ends at 65504 and 2^-25:
/// the gradient of the loss itself is set to the scale, and after the last gradient an operator
/// `unscale_gradients` checks all gradients, which data_parallel() has summed by then, so that all ranks
/// decide alike. If all are finite it multiplies them by 1 / scale. Otherwise nothing is updated in this
/// step, neither parameters nor optimizer state nor counters, and the scale is reduced. If no number
/// overflows or becomes subnormal, results with and without scaling are bitwise identical. Call it before
/// data_parallel() and with_virtual_ranks(); not with one_copy.
/// @throws ProgramError if an option is not a power of two or out of range; if the program has no gradients,
/// is already data parallel or already scales its loss; for sparse gradients and those that are not float32.
Program with_loss_scaling(const Program& program, const LossScaling& options = {});

/// The part of a program that `fetches` depend on, without any operator that changes parameters or optimizer
/// state. Keeps the order; removes variables that are not needed.
/// @throws ProgramError if a fetch is unknown or exists only in training (a gradient of a data-parallel sum).
Program for_test(const Program& program, const std::vector<std::string>& fetches);

/// Fuses activations into `fc` operators whose output only feeds the activation (and which no gradient
/// operator reads), except for outputs in `keep`. Called by the executor.
Program fuse_activations(const Program& program, const std::vector<std::string>& keep = {});

}  // namespace dtrain
