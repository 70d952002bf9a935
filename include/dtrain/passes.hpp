// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

/// Pure functions that rewrite programs.
namespace dtrain {

struct DataParallelOptions {
    int ranks = 1;  ///< size of the communicator that the program will run with
    /// A bucket is closed when it has reached this size. 0 makes one bucket per gradient.
    std::int64_t bucket_bytes = 1 << 20;
    /// Batches that each rank gives to Executor::accumulate() before an update; its gradients are their
    /// average, too.
    int micro_batches = 1;
    /// The ranks of a node have one copy of parameters and optimizer state (a State made with their
    /// communicator), and each rank updates its share of them right after adding the gradients of that share.
    /// Saves memory and the way of the sums to all ranks; nothing is exchanged before the backward pass is
    /// done.
    bool one_copy = false;
};

/// Makes a training program one whose gradients come from so many virtual ranks and are their average. These
/// are dealt to the real ranks, as many as there are of those, and added in the order of a fixed binary tree:
/// any number of ranks from 1 to virtual_ranks gives the same bits, on processors of the same kind and with
/// the same number of threads. Virtual rank v of K is fed the v-th of K parts of the global batch. Sparse
/// gradients are added row by row in the order of the virtual ranks.
/// @throws ProgramError when virtual_ranks is below 1 or the program has no gradients or is data parallel
/// already.
Program with_virtual_ranks(const Program& program, int virtual_ranks);

/// Makes a training program (minimize() done) one that averages its gradients over ranks: groups the
/// gradients that updates read into buckets in the order in which they are made, appends `allreduce_start`
/// behind the last gradient of a bucket and `allreduce_wait` before the first operator that reads one. The
/// loss's own gradient becomes 1/ranks, so that the sums are the averages. Sparse gradients are gathered from
/// all ranks and added row by row, in the order of ranks and batches: GRADIENT is then the sum, with the rows
/// of all batches, and GRADIENT.local what one batch makes. With one rank and one batch the program stays as
/// it is.
/// @throws ProgramError when ranks is below 1 or the program has no gradients or is data parallel already;
/// with one_copy also when anything but updates reads the gradients (clipping by norm).
Program data_parallel(const Program& program, const DataParallelOptions& options);

struct LocalSgd {
    int ranks = 1;           ///< size of the communicator that the program will run with
    std::int64_t every = 1;  ///< steps that a rank takes by itself before parameters are averaged
};

/// Makes a training program (minimize() done) one of local SGD (Stich, ICLR 2019), the documents'
/// asynchronous collective mode: each rank updates with the gradients of its own batches, and nothing is
/// exchanged until, after so many steps since the parameters were averaged last, the operator
/// `average_parameters` at the end of a step sets them to their averages over the ranks. Optimizer state
/// stays each rank's own. Clipping is of a rank's own gradients. Before parameters are evaluated or saved:
/// Executor::average_state(), collective. With every = 1, SGD or Momentum, and without clipping it is
/// data_parallel() but for rounding. With one rank the program stays as it is. Not to be combined with
/// data_parallel() or with_virtual_ranks().
/// @throws ProgramError when ranks or every are below 1; when the program updates nothing, is data parallel
/// or scales its loss already; for parameters that are not float32; for FTRL, which makes parameters of its
/// state alone.
Program with_local_sgd(const Program& program, const LocalSgd& options);

/// What the loss is multiplied by while gradients are made: powers of two, so that nothing is rounded.
struct LossScaling {
    double first = 65536;  ///< until there is a checkpoint that says otherwise
    double growth = 2;     ///< times this after growth_steps good steps; 1: never
    double backoff = 0.5;  ///< times this after a step with a gradient that is not finite
    std::int64_t growth_steps = 2000;
};

/// Variables that with_loss_scaling() adds: the scale (float32, to be fetched as any variable), the good
/// steps since it was changed (int64), both optimizer state, and whether this step is left out (int64, 1 or
/// 0).
inline constexpr const char* loss_scale_name = "loss_scale";
inline constexpr const char* loss_scale_steps_name = "loss_scale.good_steps";
inline constexpr const char* loss_scale_skip_name = "loss_scale.skip";

/// Makes a training program (minimize() done) one for products of float16, whose numbers end at 65504 and
/// 2^-25: the loss's own gradient is the scale, and behind the last gradient an operator `unscale_gradients`
/// looks at all of them, which data_parallel() has summed by then, so that all ranks decide alike. When all
/// are finite it multiplies them by 1 / scale. Else nothing is updated in this step, neither parameters nor
/// optimizer state nor counters, and the scale becomes smaller. Where no number overflows or becomes
/// subnormal, with and without scaling train to the same bits. To be called before data_parallel() and
/// with_virtual_ranks(); not with one_copy.
/// @throws ProgramError when an option is no power of two or out of its range; when the program has no
/// gradients, is data parallel or scales its loss already; for sparse gradients and those that are not
/// float32.
Program with_loss_scaling(const Program& program, const LossScaling& options = {});

/// The part of a program that `fetches` need, without any operator that changes parameters or optimizer
/// state. Keeps the order; variables that are not needed are left out.
/// @throws ProgramError when a fetch is unknown or only comes with training (a gradient of a data parallel
/// sum).
Program for_test(const Program& program, const std::vector<std::string>& fetches);

/// Lets `fc` operators whose output only feeds an activation (and no gradient operator reads it) do the
/// activation themselves, but for outputs that are to be kept. The executor calls it.
Program fuse_activations(const Program& program, const std::vector<std::string>& keep = {});

}  // namespace dtrain
