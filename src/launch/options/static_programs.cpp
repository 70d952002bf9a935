// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/static_programs.hpp"

#include <array>

namespace dtrain::launch {
namespace {

using F = PaddleFeature;

// clang-format off
constexpr std::array static_features{
    F{"`paddle.enable_static()`", Answer::no_effect, "a `Program` is always static; [layers.md](layers.md) has networks line by line"},
    F{"`fluid.Program()`, `default_main_program()`, `program_guard`", Answer::done, "`Program`, a value that each layer is given; there is no default one"},
    F{"`fluid.data`, `fluid.layers.data`, `paddle.static.data(name, shape, dtype)`", Answer::done, "`layers::data()`; the batch is part of the shape and no -1: what one rank feeds, `DistributedSampler::local_batch()`"},
    F{"`fluid.layers.fc`, `paddle.static.nn.fc(x, size, activation)`", Answer::done, "`layers::fc()` with `layers::FcOptions::activation`; images go through `layers::flatten()` first"},
    F{"`fluid.layers.embedding(is_sparse, is_distributed, padding_idx)`, `paddle.static.nn.embedding`, `sparse_embedding`", Answer::done, "`layers::embedding()` with `layers::EmbeddingOptions::is_sparse`, `layers::EmbeddingOptions::is_distributed`, `layers::EmbeddingOptions::padding_idx`"},
    F{"`conv2d`, `pool2d`, `layer_norm`, `dropout`", Answer::done, "`layers::conv2d()`, `layers::max_pool2d()`, `layers::avg_pool2d()`, `layers::layer_norm()`, `layers::dropout()`"},
    F{"`relu`, `tanh`, `sigmoid`, `softmax`, `square`, `sqrt`, `sum`, `scale`, `matmul`, `reshape`, `concat`, `split`, `elementwise_sub`, `_mul`, `_div`", Answer::done, "`layers::relu()`, `layers::tanh()`, `layers::sigmoid()`, `layers::softmax()`, `layers::square()`, `layers::sqrt()`, `layers::sum()`, `layers::scale()`, `layers::matmul()`, `layers::reshape()`, `layers::concat()`, `layers::split()`, `layers::subtract()`, `layers::multiply()`, `layers::divide()`"},
    F{"`cross_entropy`, `softmax_with_cross_entropy`, `square_error_cost`, `sigmoid_cross_entropy_with_logits`, `mean`, `reduce_sum`", Answer::done, "`layers::cross_entropy()`, `layers::softmax_with_cross_entropy()`, `layers::square_error()`, `layers::bce_with_logits()`, `layers::mean()`, `layers::reduce_sum()`"},
    F{"`fluid.layers.accuracy`, `paddle.metric.accuracy(input, label)`, `fluid.layers.auc`", Answer::done, "`layers::accuracy()`, and `layers::correct_count()` to add over batches and ranks; `layers::auc()`"},
    F{"`fluid.optimizer.SGD`, `Momentum`, `Adagrad`, `Adam`, `AdamW`, `Ftrl`", Answer::done, "`Sgd`, `Momentum`, `Adagrad`, `Adam`, `AdamW`, `Ftrl`"},
    F{"`optimizer.minimize(loss)`, `fluid.backward.append_backward(loss)`", Answer::done, "`minimize()`, `append_backward()`"},
    F{"`L1Decay`, `L2Decay`, `GradientClipByValue`, `ByNorm`, `ByGlobalNorm`", Answer::done, "`OptimizerOptions::regularisation` with `L1Decay`, `L2Decay`; `OptimizerOptions::clipping` with `ClipByValue`, `ClipByNorm`, `ClipByGlobalNorm`"},
    F{"`exponential_decay`, `natural_exp_decay`, `inverse_time_decay`, `polynomial_decay`, `piecewise_decay`, `cosine_decay`, `noam_decay`, `linear_lr_warmup`", Answer::done, "`OptimizerOptions::schedule` with `ExponentialDecay`, `NaturalExpDecay`, `InverseTimeDecay`, `PolynomialDecay`, `PiecewiseRate`, `CosineDecay`, `NoamDecay`, `LinearWarmup`"},
    F{"`default_startup_program()`, `exe.run(startup)`", Answer::done, "`State`: it has the initial values as soon as it is made; nothing is run for them"},
    F{"`program.clone(for_test=True)`", Answer::done, "`for_test()` of what is to be fetched"},
    F{"`fluid.Executor(place)`, `CPUPlace()`, `CUDAPlace(0)`", Answer::done, "`Executor`; `ExecutorOptions::device` with `Device::cpu()`, `Device::gpu()`"},
    F{"`exe.run(program, feed={...}, fetch_list=[...])`", Answer::done, "an `Executor` is of one program: `Executor::feed()`, `Executor::run()`, `Executor::fetch()`, `Executor::fetch_scalar()`"},
    F{"`global_scope().find_var(name).get_tensor()`", Answer::done, "`State::find()`, `State::tensors()`"},
    F{"`fluid.DataFeeder`, `paddle.io.DataLoader(feed_list=...)`, `DistributedBatchSampler`, `drop_last`", Answer::done, "`DataSource::gather()` into `Executor::feed()`; `DistributedSampler`, `LastBatch::drop`; files larger than memory: `open_data()`"},
    F{"`ParallelExecutor(loss_name, num_trainers, trainer_id)`, `CompiledProgram(...).with_data_parallel(loss_name)`", Answer::done, "`data_parallel()`, `ExecutorOptions::num_trainers`, `ExecutorOptions::trainer_id`; a rank has one device, so one process for each"},
    F{"`fluid.memory_optimize(program, skip_grads=True)`", Answer::done, "`ExecutorOptions::memory_optimize`, `ExecutorOptions::skip_grads`"},
    F{"`fluid.io.save_persistables`, `load_persistables`, `fluid.save`, `fluid.load`", Answer::done, "`StateCheckpoints`, `save_checkpoint()`, `load_checkpoint()`"},
    F{"`fluid.io.save_inference_model`", Answer::done, "`save_program()` of what `for_test()` returns, beside a checkpoint; not in Paddle's format"},
    F{"`fluid.profiler`", Answer::done, "`ExecutorOptions::profile`, `Executor::profile()`"},
    F{"`fleet.init(is_collective=True)`, `PaddleCloudRoleMaker`", Answer::done, "`ParallelEnv`: who this rank is comes from MPI and the launcher"},
    F{"`fleet.init()` with parameter servers, `is_server()`, `is_worker()`, `server_num()`", Answer::done, "`ServerRanks`, `ServerRanks::serves()`, `ServerRanks::servers()`"},
    F{"`fleet.worker_index()`, `worker_num()`, `is_first_worker()`", Answer::done, "`ParallelEnv::rank()`, `ParallelEnv::world_size()`; with servers `ServerRanks::number()`, `ServerRanks::trainers()`"},
    F{"`fleet.DistributedStrategy()`, `fleet.distributed_optimizer(optimizer, strategy).minimize(loss)`", Answer::done, "`minimize()`, then `data_parallel()` of the program with `DataParallelOptions`; no object holds a strategy"},
    F{"`strategy.fuse_grad_size_in_MB`", Answer::done, "`DataParallelOptions::bucket_bytes`"},
    F{"`strategy.gradient_merge`, `k_steps`", Answer::done, "`DataParallelOptions::micro_batches`, `Executor::accumulate()`, `Executor::update()`"},
    F{"`strategy.localsgd`, `k_steps`", Answer::done, "`with_local_sgd()`, `LocalSgd::every`, `Executor::average_state()`"},
    F{"`strategy.amp`, `init_loss_scaling`", Answer::done, "`ExecutorOptions::products` with `ComputeType::float16`, `with_loss_scaling()`, `LossScaling::first`"},
    F{"`strategy.a_sync`, `a_sync_configs[\"k_steps\"]`", Answer::done, "`TranspileOptions::sync_mode` with `ServerMode::async`, `ServerMode::half_async`; `DistributeTranspilerConfig::geo_sgd_mode`, `DistributeTranspilerConfig::geo_sgd_need_push_nums`"},
    F{"`strategy.sharding`, `pipeline`, `recompute`, `dgc`, `lars`, `lamb`", Answer::refused, "not part of dtrain; parameters that the ranks of a node share: `DataParallelOptions::one_copy`"},
    F{"`fleet.init_server()`, `run_server()`", Answer::done, "`serve()`; to go on from a checkpoint `ParameterServer::load()`, `ParameterServer::run()`"},
    F{"`fleet.init_worker()`, `stop_worker()`", Answer::done, "`ServerConnection`, `ServerConnection::pull_parameters()`; `ServerConnection::leave()`"},
    F{"`fleet.save_persistables`", Answer::done, "`ServerConnection::save()`; without servers `StateCheckpoints`"},
    F{"`fleet.barrier_worker()`, `fleet.util.all_reduce`, `paddle.distributed.all_reduce`, `broadcast`", Answer::done, "`Communicator::barrier()`, `Communicator::allreduce()`, `Communicator::broadcast()`"},
    F{"`DistributeTranspiler`, `transpile`, `get_trainer_program`, `get_pserver_program`, `get_startup_program`", Answer::done, "`DistributeTranspiler::transpile()`, `DistributeTranspiler::get_trainer_program()`, `DistributeTranspiler::get_pserver_program()`, `DistributeTranspiler::get_startup_program()`: [servers.md](servers.md#paddles-distributetranspiler)"},
    F{"`slice_var_up`, `min_block_size`, `split_method` with `RoundRobin`, `HashName`", Answer::done, "`DistributeTranspilerConfig::slice_var_up`, `DistributeTranspilerConfig::min_block_size`, `DistributeTranspilerConfig::split_method` with `round_robin()`, `round_robin_by_name()` (Paddle's order), `hash_name()`"},
};
// clang-format on

}  // namespace

std::span<const PaddleFeature> static_program_features() {
    return static_features;
}

}  // namespace dtrain::launch
