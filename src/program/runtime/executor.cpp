// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>

#include "base/text.hpp"
#include "kernels/kernel.hpp"
#include "program/device/check_gpu.hpp"
#include "program/device/gpu_choice.hpp"
#include "program/runtime/compiled_program.hpp"

namespace dtrain {

struct Executor::Content {
    Content(Program program, State state, Communicator communicator, const ExecutorOptions& options)
        : compiled(std::move(program), std::move(state), std::move(communicator), options) {}

    program::CompiledProgram compiled;
    std::set<std::string, std::less<>> fused;  // variables that the executor's passes removed
};

namespace {

void check_trainers(const ExecutorOptions& options, const Communicator& communicator) {
    if (options.num_trainers && *options.num_trainers != communicator.size())
        throw UsageError(
            fmt::format("num_trainers is {}, but the communicator has {}: was the job "
                        "started with as many?",
                        *options.num_trainers, counted(communicator.size(), "rank")));
    if (options.trainer_id && *options.trainer_id != communicator.rank())
        throw UsageError(fmt::format("trainer_id is {}, but this is rank {} of the communicator",
                                     *options.trainer_id, communicator.rank()));
}

}  // namespace

Executor::Executor(const Program& program, State state, Communicator communicator,
                   const ExecutorOptions& options) {
    check_trainers(options, communicator);
    const auto device = program::device_to_use(options.device, Environment::of_this_process(),
                                               program::why_not_on_a_gpu(program, state));
    if (options.products == ComputeType::float16 && !device.is_gpu())
        throw UsageError(
            "ExecutorOptions::products is float16, and only GPUs multiply float16: choose one (device "
            "\"gpu\", "
            "or DTRAIN_DEVICE=gpu), or bfloat16 or float32");
    if (options.products == ComputeType::bfloat16 && !device.is_gpu() && !has_bfloat16_products())
        throw UsageError(fmt::format("ExecutorOptions::products is bfloat16: {}; leave it float32",
                                     why_no_bfloat16_products()));
    if (options.threads > 0) kernels::set_compute_threads(options.threads);
    for (const auto& name : options.keep) program.variable(name);
    content_ = std::make_unique<Content>(options.fuse ? fuse_activations(program, options.keep) : program,
                                         std::move(state), std::move(communicator), options);
    for (const auto& variable : program.variables())
        if (!content_->compiled.program().has(variable.name)) content_->fused.insert(variable.name);
}

Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::run() {
    content_->compiled.run();
}

void Executor::accumulate() {
    content_->compiled.accumulate();
}

void Executor::update() {
    content_->compiled.update();
}

void Executor::average_state() {
    content_->compiled.average_state();
}

VirtualRanks Executor::virtual_ranks() const {
    return content_->compiled.virtual_ranks();
}

TensorView Executor::fed(std::string_view name, DataType type) const {
    const auto& variable = content_->compiled.program().variable(name);
    if (variable.role != Role::data)
        throw ProgramError(fmt::format("feed: '{}' is a {}, expected data", name, to_string(variable.role)),
                           "", variable.name);
    if (variable.type != type)
        throw ProgramError(fmt::format("feed: '{}' is {} {}, it was asked for {} elements", name,
                                       to_string(variable.type), to_string(variable.shape), to_string(type)),
                           "", variable.name);
    return content_->compiled.fed(variable);
}

TensorView Executor::fetched(std::string_view name, DataType type) const {
    if (content_->fused.contains(name))
        throw ProgramError(
            fmt::format("fetch: '{}' is not kept, because the activation behind it is computed in its "
                        "place; fetch that one, or name it in ExecutorOptions::keep",
                        name),
            "", std::string(name));
    const auto& variable = content_->compiled.program().variable(name);
    if (content_->compiled.is_inner(name))
        throw ProgramError(fmt::format("fetch: '{}' is not kept, because the operators that make and read it "
                                       "run together, block by block; name it in ExecutorOptions::keep",
                                       name),
                           "", variable.name);
    if (content_->compiled.tensors().is_overwritten(name))
        throw ProgramError(fmt::format("fetch: '{}' is not kept, because memory_optimize gave its memory to "
                                       "others; name it in ExecutorOptions::keep",
                                       name),
                           "", variable.name);
    if (variable.type != type)
        throw ProgramError(
            fmt::format("fetch: '{}' is {}, expected {}", name, to_string(variable.type), to_string(type)),
            "", variable.name);
    return content_->compiled.fetched(variable);
}

TensorView Executor::fetched_scalar(std::string_view name, DataType type) const {
    auto values = fetched(name, type);
    if (values.size() != 1)
        throw ProgramError(fmt::format("fetch_scalar: '{}' is {}, expected one element", name,
                                       to_string(content_->compiled.program().variable(name).shape)),
                           "", std::string(name));
    return values;
}

const State& Executor::state() const {
    return content_->compiled.state();
}

const Program& Executor::program() const {
    return content_->compiled.program();
}

std::string Executor::device() const {
    return content_->compiled.device();
}

std::size_t Executor::memory_bytes() const {
    return content_->compiled.tensors().bytes();
}

std::vector<OperatorTime> Executor::profile() const {
    return content_->compiled.profile();
}

bool Executor::sees_exchanges() const {
    return content_->compiled.sees_exchanges();
}

std::chrono::nanoseconds Executor::exchange_time() const {
    return content_->compiled.exchange_time();
}

}  // namespace dtrain
