// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>

#include "kernels/kernel.hpp"
#include "program/aligned_memory.hpp"

namespace dtrain {
namespace {

using TensorsByName = std::map<std::string, TensorView, std::less<>>;

std::vector<kernels::SlotTensor> bind(const std::vector<Argument>& arguments, const TensorsByName& tensors) {
    std::vector<kernels::SlotTensor> bound;
    for (const auto& argument : arguments) bound.push_back({argument.slot, tensors.at(argument.variable)});
    return bound;
}

bool is_communication(const Operator& op) {
    return op.type == "allreduce_start" || op.type == "allreduce_wait";
}

std::size_t bucket_of(const Operator& op) {
    return static_cast<std::size_t>(std::get<std::int64_t>(op.attributes.at("bucket")));
}

}  // namespace

struct Executor::Content {
    enum class Action { compute, start, wait, exchange };

    struct Step {
        Action action;
        std::size_t number;  // of the kernel or bucket
    };

    Content(Program compiled, State with_state, Communicator with_communicator)
        : program(std::move(compiled)),
          state(std::move(with_state)),
          communicator(std::move(with_communicator)) {}

    void check_ranks() const {
        for (const auto& op : program.operators()) {
            if (!is_communication(op)) continue;
            const auto ranks = std::get<std::int64_t>(op.attributes.at("ranks"));
            if (ranks != communicator.size())
                throw ProgramError(
                    fmt::format("the program was made data parallel for {} ranks and the communicator "
                                "has {}",
                                ranks, communicator.size()),
                    op.type, "");
        }
    }

    void place_state() {
        for (const auto& variable : program.variables()) {
            if (!is_persistable(variable.role)) continue;
            const auto* tensor = state.find(variable.name);
            if (tensor == nullptr)
                throw ProgramError(
                    fmt::format("the state has no {} '{}'", to_string(variable.role), variable.name), "",
                    variable.name);
            if (tensor->view.shape != variable.shape || tensor->view.type != variable.type)
                throw ProgramError(
                    fmt::format("{} '{}' is {} {} in the state, expected {} {}", to_string(variable.role),
                                variable.name, to_string(tensor->view.type), to_string(tensor->view.shape),
                                to_string(variable.type), to_string(variable.shape)),
                    "", variable.name);
            tensors.emplace(variable.name, tensor->view);
        }
    }

    // Everything that a step makes, in one block; the gradients of a bucket side by side, so that one
    // all-reduce sums them where they are. The gaps between them hold zeros.
    void place_temporaries() {
        std::map<std::string, std::size_t, std::less<>> offsets;
        std::size_t end = 0;
        const auto place = [&](const std::string& name) {
            const auto& variable = program.variable(name);
            offsets.emplace(name, end);
            end += program::aligned(TensorView{nullptr, variable.shape, variable.type}.bytes());
        };
        struct Range {
            std::size_t begin;
            std::size_t end;
        };
        std::vector<Range> ranges;
        for (const auto& op : program.operators()) {
            if (op.type != "allreduce_start") continue;
            ranges.resize(std::max(ranges.size(), bucket_of(op) + 1));
            const auto begin = end;
            for (const auto& gradient : op.inputs) place(gradient.variable);
            ranges[bucket_of(op)] = {begin, end};
        }
        for (const auto& variable : program.variables())
            if (!is_persistable(variable.role) && !offsets.contains(variable.name)) place(variable.name);

        memory = program::make_memory(end);
        for (const auto& [name, offset] : offsets) {
            const auto& variable = program.variable(name);
            tensors.emplace(name, TensorView{memory.get() + offset, variable.shape, variable.type});
        }
        for (const auto& range : ranges)
            buckets.emplace_back(reinterpret_cast<float*>(memory.get() + range.begin),
                                 (range.end - range.begin) / sizeof(float));
        requests.resize(buckets.size());
    }

    // With nothing to compute between start and wait the blocking call is the faster one. A counter is
    // nothing.
    bool is_waited_for_at_once(std::size_t start) const {
        const auto& operators = program.operators();
        for (std::size_t number = start + 1; number < operators.size(); ++number) {
            const auto& op = operators[number];
            if (op.type == "allreduce_wait" && bucket_of(op) == bucket_of(operators[start])) return true;
            if (op.type != "increment") return false;
        }
        return false;
    }

    void prepare_kernels(bool overlap) {
        const auto& operators = program.operators();
        for (std::size_t number = 0; number < operators.size(); ++number) {
            const auto& op = operators[number];
            if (op.type == "allreduce_start") {
                const bool blocking = !overlap || is_waited_for_at_once(number);
                steps.push_back({blocking ? Action::exchange : Action::start, bucket_of(op)});
            } else if (op.type == "allreduce_wait") {
                steps.push_back({Action::wait, bucket_of(op)});
            } else {
                steps.push_back({Action::compute, prepared.size()});
                prepared.push_back(kernels::make_cpu_kernel(
                    op.type, {bind(op.inputs, tensors), bind(op.outputs, tensors), op.attributes}));
            }
        }
    }

    void run() {
        for (const auto& step : steps) {
            switch (step.action) {
                case Action::compute:
                    prepared[step.number]->run();
                    poke();
                    break;
                case Action::start:
                    requests[step.number] = communicator.start_allreduce_sum(buckets[step.number]);
                    break;
                case Action::wait:
                    requests[step.number].wait();
                    break;
                case Action::exchange:
                    communicator.allreduce_sum(buckets[step.number]);
                    break;
            }
        }
    }

    // MPI moves data only while it is called.
    void poke() {
        for (auto& request : requests)
            if (!request.complete()) request.test();
    }

    Program program;
    State state;
    Communicator communicator;
    program::AlignedMemory memory;
    TensorsByName tensors;
    std::vector<std::string> fused;  // variables that the executor's passes removed
    std::vector<std::span<float>> buckets;
    std::vector<std::unique_ptr<kernels::Kernel>> prepared;
    std::vector<Step> steps;
    std::vector<Request> requests;  // by bucket; goes first, for it uses communicator and memory
};

Executor::Executor(const Program& program, State state, Communicator communicator,
                   const ExecutorOptions& options) {
    if (options.threads > 0) kernels::set_compute_threads(options.threads);
    content_ = std::make_unique<Content>(options.fuse ? fuse_activations(program) : program, std::move(state),
                                         std::move(communicator));
    for (const auto& variable : program.variables())
        if (!content_->program.has(variable.name)) content_->fused.push_back(variable.name);
    content_->check_ranks();
    content_->place_state();
    content_->place_temporaries();
    content_->prepare_kernels(options.overlap);
}

Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::run() {
    content_->run();
}

TensorView Executor::fed(std::string_view name, DataType type) const {
    const auto& variable = content_->program.variable(name);
    if (variable.role != Role::data)
        throw ProgramError(fmt::format("feed: '{}' is a {}, expected data", name, to_string(variable.role)),
                           "", variable.name);
    if (variable.type != type)
        throw ProgramError(fmt::format("feed: '{}' is {} {}, it was asked for {} elements", name,
                                       to_string(variable.type), to_string(variable.shape), to_string(type)),
                           "", variable.name);
    return content_->tensors.find(name)->second;
}

std::span<const float> Executor::fetch(std::string_view name) const {
    if (std::ranges::find(content_->fused, name) != content_->fused.end())
        throw ProgramError(
            fmt::format("fetch: '{}' is not kept, because the activation behind it is computed in its "
                        "place; fetch that one, or compile with fuse = false",
                        name),
            "", std::string(name));
    const auto& variable = content_->program.variable(name);
    if (variable.type != DataType::float32)
        throw ProgramError(fmt::format("fetch: '{}' is {}, expected float32", name, to_string(variable.type)),
                           "", variable.name);
    return content_->tensors.find(name)->second.as<float>();
}

float Executor::fetch_scalar(std::string_view name) const {
    const auto values = fetch(name);
    if (values.size() != 1)
        throw ProgramError(fmt::format("fetch_scalar: '{}' is {}, expected one element", name,
                                       to_string(content_->program.variable(name).shape)),
                           "", std::string(name));
    return values.front();
}

const State& Executor::state() const {
    return content_->state;
}

const Program& Executor::program() const {
    return content_->program;
}

}  // namespace dtrain
