// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "gpu/operators/chain.hpp"
#include "gpu/operators/give.hpp"
#include "gpu/operators/table.hpp"

namespace dtrain::gpu {
namespace {

using kernels::ChainLink;

/// The step code of an operator, and the slots whose elements it reads.
struct Form {
    std::string_view type;
    Code code;
    std::vector<std::string_view> slots;
};

std::vector<Form> all_chain_forms() {
    std::vector<Form> all{
        {"dropout", Code::dropout, {"x"}},
        {"fill_like", Code::fill, {}},
        {"scale", Code::scale, {"x"}},
        {"sum", Code::add, {"x"}},
    };
    auto code = static_cast<std::uint8_t>(Code::function);
    kernels::ElementOperators::for_each([&]<class Function>(std::type_identity<Function>) {
        all.push_back({Function::type, Code{code++}, {Function::inputs.begin(), Function::inputs.end()}});
    });
    return all;
}

const std::vector<Form>& forms() {
    static const auto all = all_chain_forms();
    return all;
}

const Form& form_of(const ChainLink& link) {
    const auto at = std::ranges::find(forms(), link.type, &Form::type);
    if (at == forms().end())
        throw Error("the operator '" + std::string(link.type) + "' is none that the GPU has in chains");
    return *at;
}

/// The memory whose elements an operator reads.
std::vector<const void*> read_by(const ChainLink& link) {
    std::vector<const void*> read;
    for (const auto slot : form_of(link).slots)
        for (const auto& tensor : link.arguments.inputs_of(slot)) read.push_back(tensor.data);
    return read;
}

const TensorView& result_of(const ChainLink& link) {
    return link.arguments.outputs.front().tensor;
}

/// Builds a chain.
template <class Real>
class ChainProgram {
  public:
    ChainProgram(const std::vector<ChainLink>& links, const std::set<const void*>& inner) : inner_(inner) {
        std::set<const void*> made;
        for (const auto& link : links) {
            for (const auto* read : read_by(link))
                if (!made.contains(read) && std::ranges::find(known_, read) == known_.end())
                    known_.push_back(read);
            made.insert(result_of(link).data);
        }
        loads_ = known_.size();
        for (const auto& link : links) append(link);
    }

    /// False if it has more tensors or steps than a kernel can take.
    bool fits() const { return loads_ <= Chain<Real>::max_loads && steps_.size() <= Chain<Real>::max_steps; }

    Chain<Real> chain(const Dropped* dropped) const {
        Chain<Real> made;
        made.load_count = static_cast<std::uint32_t>(loads_);
        made.step_count = static_cast<std::uint32_t>(steps_.size());
        for (std::size_t load = 0; load < loads_; ++load)
            made.loads[load] = static_cast<const Real*>(known_[load]);
        std::ranges::copy(steps_, made.steps);
        made.dropped = dropped;
        return made;
    }

    const std::vector<Dropped>& dropped() const { return dropped_; }

  private:
    void append(const ChainLink& link) {
        const auto& arguments = link.arguments;
        const auto read = read_by(link);
        ChainStep<Real> step{form_of(link).code};
        if (!read.empty()) step.x = number_of(read[0]);
        if (read.size() > 1) step.y = number_of(read[1]);
        if (read.size() > 2) step.z = number_of(read[2]);
        if (step.code == Code::fill) step.a = static_cast<Real>(arguments.number("value"));
        if (step.code == Code::scale) {
            step.a = static_cast<Real>(arguments.number("scale"));
            step.b = static_cast<Real>(arguments.number("bias"));
        }
        if (step.code == Code::dropout && arguments.whole("is_test") != 0) step.code = Code::copy;
        if (step.code == Code::dropout) {
            step.a = static_cast<Real>(kept_factor(arguments));
            step.y = static_cast<std::uint8_t>(dropped_.size());
            dropped_.emplace_back(arguments);
        }
        if (step.code == Code::add) {
            if (read.size() == 1) step.code = Code::copy;
            for (std::size_t term = 2; term < read.size(); ++term) {
                push(step, nullptr);
                step.x = static_cast<std::uint8_t>(known_.size() - 1);
                step.y = number_of(read[term]);
            }
        }
        push(step, result_of(link).data);
    }

    /// Appends a step; its value gets the next number.
    void push(ChainStep<Real> step, void* result) {
        if (result != nullptr && !inner_.contains(result)) step.stored = static_cast<Real*>(result);
        known_.push_back(result);
        steps_.push_back(step);
    }

    std::uint8_t number_of(const void* memory) const {
        const auto last = std::find(known_.rbegin(), known_.rend(), memory);
        return static_cast<std::uint8_t>(known_.rend() - last - 1);
    }

    const std::set<const void*>& inner_;
    std::vector<const void*> known_;  // memory that contains the values, by value number
    std::size_t loads_ = 0;
    std::vector<ChainStep<Real>> steps_;
    std::vector<Dropped> dropped_;
};

/// Inner tensors get memory that belongs to this kernel.
std::unique_ptr<Kernel> make_one_by_one(KernelContext& context, std::vector<ChainLink> links,
                                        const std::set<const void*>& inner) {
    std::map<const void*, DeviceMemory> memory;
    const auto place = [&](std::vector<kernels::SlotTensor>& tensors) {
        for (auto& [slot, tensor] : tensors) {
            if (!inner.contains(tensor.data)) continue;
            auto& own = memory[tensor.data];
            if (!own) own = allocate(tensor.bytes());
            tensor.data = own.get();
        }
    };
    std::vector<std::shared_ptr<Kernel>> all;
    for (auto& [type, arguments] : links) {
        place(arguments.inputs);
        place(arguments.outputs);
        all.push_back(find_kernel(type)(context, arguments));
    }
    return kernels::kernel_of([memory = std::move(memory), all = std::move(all)] {
        for (const auto& kernel : all) kernel->run();
    });
}

template <class Real>
std::unique_ptr<Kernel> make_chain(KernelContext& context, const std::vector<ChainLink>& links,
                                   const std::set<const void*>& inner) {
    const ChainProgram<Real> program(links, inner);
    if (!program.fits()) return make_one_by_one(context, links, inner);
    return kernels::kernel_of([&stream = context.stream, size = result_of(links.front()).size(), program,
                               dropped = Table<Dropped>(context.stream, program.dropped())] {
        for_each(stream, size, program.chain(dropped.data()));
    });
}

}  // namespace

std::unique_ptr<Kernel> make_chain_kernel(KernelContext& context, const std::vector<ChainLink>& links,
                                          const std::set<const void*>& inner) {
    return links.front().arguments.real_type() == DataType::float64
               ? make_chain<double>(context, links, inner)
               : make_chain<float>(context, links, inner);
}

}  // namespace dtrain::gpu
