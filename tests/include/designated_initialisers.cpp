// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Compiled only, with the warnings of a careful user: whoever names one field of a public struct is told of
// no other (-Wmissing-field-initializers), as each has an initialiser of its own.
#include <dtrain/batches.hpp>
#include <dtrain/callbacks.hpp>
#include <dtrain/checkpoint.hpp>
#include <dtrain/click_log.hpp>
#include <dtrain/cluster.hpp>
#include <dtrain/comm_error.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/data_parallel.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/device.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/learning_rate.hpp>
#include <dtrain/metrics.hpp>
#include <dtrain/model.hpp>
#include <dtrain/nccl.hpp>
#include <dtrain/nn_data.hpp>
#include <dtrain/nn_images.hpp>
#include <dtrain/nn_layer.hpp>
#include <dtrain/nn_training.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program.hpp>
#include <dtrain/row_rules.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/spawn.hpp>
#include <dtrain/state_checkpoints.hpp>
#include <dtrain/tensor.hpp>
#include <dtrain/topology.hpp>
#include <dtrain/transpiler.hpp>
#include <dtrain/variable_block.hpp>

namespace dtrain_headers {

void one_field_each();
void one_field_each() {
    using namespace dtrain;
    static_cast<void>(BatchesOptions{.x = {}});
    static_cast<void>(Metrics{.loss = {}});
    static_cast<void>(SlowRank{.rank = {}});
    static_cast<void>(EpochRecord{.epoch = {}});
    static_cast<void>(StepRecord{.epoch = {}});
    static_cast<void>(Checkpoints::Options{.keep = {}});
    static_cast<void>(EarlyStop::Options{.monitor = {}});
    static_cast<void>(RowOptions{.every_steps = {}});
    static_cast<void>(NextStep{.epoch = {}});
    static_cast<void>(ReduceOnPlateau::Options{.monitor = {}});
    static_cast<void>(CheckpointTensor{.shape = {}});
    static_cast<void>(CheckpointHeader{.epoch = {}});
    static_cast<void>(CheckpointOptions{.keep = {}});
    static_cast<void>(ClickColumns{.integers = {}});
    static_cast<void>(CsvClickColumns{.label = {}});
    static_cast<void>(SvmlightClickColumns{.numbers = {}});
    static_cast<void>(ClickLog{.integers = {}});
    static_cast<void>(cluster::Identity{.launcher = {}});
    static_cast<void>(cluster::ProcessIds{.process = {}});
    static_cast<void>(cluster::HostSlots{.host = {}});
    static_cast<void>(MissingRank{.rank = {}});
    static_cast<void>(Communicator::Shard{.first = {}});
    static_cast<void>(ParameterBuffers{.name = {}});
    static_cast<void>(DatasetSource{.file = {}});
    static_cast<void>(Device{.kind = {}});
    static_cast<void>(StateTensor{.name = {}});
    static_cast<void>(ExecutorOptions{.device = {}});
    static_cast<void>(OperatorTime{.type = {}});
    static_cast<void>(VirtualRanks{.begin = {}});
    static_cast<void>(layers::FcOptions{.activation = {}});
    static_cast<void>(layers::MatmulOptions{.transpose_x = {}});
    static_cast<void>(layers::EmbeddingOptions{.is_sparse = {}});
    static_cast<void>(layers::LayerNormOptions{.axis = {}});
    static_cast<void>(layers::Conv2dOptions{.window = {}});
    static_cast<void>(layers::Pool2dOptions{.window = {}});
    static_cast<void>(layers::DropoutOptions{.seed = {}});
    static_cast<void>(layers::CrossEntropy{.loss = {}});
    static_cast<void>(ExponentialDecay{.learning_rate = {}});
    static_cast<void>(NaturalExpDecay{.learning_rate = {}});
    static_cast<void>(InverseTimeDecay{.learning_rate = {}});
    static_cast<void>(PolynomialDecay{.learning_rate = {}});
    static_cast<void>(PiecewiseRate{.boundaries = {}});
    static_cast<void>(CosineDecay{.learning_rate = {}});
    static_cast<void>(NoamDecay{.learning_rate = {}});
    static_cast<void>(LinearWarmup{.steps = {}});
    static_cast<void>(LearningRateSchedule{.decay = {}});
    static_cast<void>(AucOptions{.weight = {}});
    static_cast<void>(Auc{.value = {}});
    static_cast<void>(SampleSpec{.name = {}});
    static_cast<void>(SampleValues{.name = {}});
    static_cast<void>(FitOptions{.eval = {}});
    static_cast<void>(Predictions{.shape = {}});
    static_cast<void>(ModelOptions{.communicator = {}});
    static_cast<void>(NcclOptions{.name = {}});
    static_cast<void>(nn::DataLoaderOptions{.batch_size = {}});
    static_cast<void>(nn::LinearOptions{.name = {}});
    static_cast<void>(nn::EmbeddingOptions{.padding_idx = {}});
    static_cast<void>(nn::LayerNormOptions{.name = {}});
    static_cast<void>(nn::Conv2dOptions{.name = {}});
    static_cast<void>(nn::DataParallelOptions{.bucket_bytes = {}});
    static_cast<void>(ParameterGradient{.parameter = {}});
    static_cast<void>(Momentum{.learning_rate = {}});
    static_cast<void>(Adagrad{.learning_rate = {}});
    static_cast<void>(Adam{.learning_rate = {}});
    static_cast<void>(AdamW{.learning_rate = {}});
    static_cast<void>(Ftrl{.learning_rate = {}});
    static_cast<void>(ClipByValue{.min = {}});
    static_cast<void>(OptimizerOptions{.schedule = {}});
    static_cast<void>(ServerMetricsOptions{.folder = {}});
    static_cast<void>(ServerJobOptions{.mode = {}});
    static_cast<void>(ServerCounts{.rows = {}});
    static_cast<void>(SavedRows{.since = {}});
    static_cast<void>(DataParallelOptions{.ranks = {}});
    static_cast<void>(LossScaling{.first = {}});
    static_cast<void>(Initializer{.kind = {}});
    static_cast<void>(Variable{.name = {}});
    static_cast<void>(Argument{.slot = {}});
    static_cast<void>(Operator{.type = {}});
    static_cast<void>(AdmitByCount{.count = {}});
    static_cast<void>(RowStatistics{.show_coefficient = {}});
    static_cast<void>(RowRules{.admission = {}});
    static_cast<void>(LocalBatch{.samples = {}});
    static_cast<void>(DistributedSampler::Options{.samples = {}});
    static_cast<void>(SpawnOptions{.nprocs = {}});
    static_cast<void>(TensorView{.shape = {}});
    static_cast<void>(topology::PciAddress{.domain = {}});
    static_cast<void>(topology::Core{.package = {}});
    static_cast<void>(topology::NumaNode{.os_index = {}});
    static_cast<void>(topology::Gpu{.index = {}});
    static_cast<void>(topology::NetworkAdapter{.name = {}});
    static_cast<void>(topology::Machine{.hostname = {}});
    static_cast<void>(topology::VisibleGpu{.id = {}});
    static_cast<void>(topology::Placement{.gpus = {}});
    static_cast<void>(DistributeTranspilerConfig{.mode = {}});
    static_cast<void>(TranspileOptions{.trainer_id = {}});
    static_cast<void>(DistributeTranspiler::Placement{.block = {}});
    static_cast<void>(DistributeTranspiler::Table{.parameter = {}});
    static_cast<void>(VariableBlock{.variable = {}});
}

}  // namespace dtrain_headers
