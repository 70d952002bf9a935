// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/passes/element_chains.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "program/ir/operators.hpp"

namespace dtrain::program {
namespace {

using Names = std::set<std::string, std::less<>>;

std::int64_t elements_of(const Program& program, const Operator& op) {
    return element_count(program.variable(op.outputs.front().variable).shape);
}

bool is_element_wise(const Program& program, const Operator& op) {
    return traits_of(op.type).element_wise &&
           elements_of(program, op) > static_cast<std::int64_t>(chain_block);
}

bool reads_one_of(const Operator& op, const Names& made) {
    return std::ranges::any_of(op.inputs, [&](const auto& input) { return made.contains(input.variable); });
}

/// The last operator that reads each variable.
std::map<std::string, std::size_t, std::less<>> last_readers(const Program& program) {
    std::map<std::string, std::size_t, std::less<>> readers;
    for (std::size_t number = 0; number < program.operators().size(); ++number)
        for (const auto& input : program.operators()[number].inputs) readers[input.variable] = number;
    return readers;
}

/// The chain that starts at an operator; a single operator if there is none.
ElementChain chain_from(const Program& program, std::size_t first, std::size_t barrier) {
    const auto& operators = program.operators();
    Names made;
    auto end = first;
    while (end < operators.size() && is_element_wise(program, operators[end]) &&
           elements_of(program, operators[end]) == elements_of(program, operators[first])) {
        if (end > first && (end == barrier || !reads_one_of(operators[end], made))) break;
        for (const auto& output : operators[end].outputs) made.insert(output.variable);
        ++end;
    }
    return {first, std::max<std::size_t>(end - first, 1)};
}

}  // namespace

const ElementChain* ElementChains::of(std::size_t number) const {
    const auto after = std::ranges::upper_bound(chains, number, {}, &ElementChain::first);
    if (after == chains.begin()) return nullptr;
    const auto& chain = *std::prev(after);
    return number <= chain.last() ? &chain : nullptr;
}

ElementChains find_element_chains(const Program& program, std::size_t barrier, const Names& keep) {
    ElementChains found;
    const auto readers = last_readers(program);
    for (std::size_t first = 0; first < program.operators().size();) {
        const auto chain = chain_from(program, first, barrier);
        first += chain.count;
        if (chain.count == 1) continue;
        found.chains.push_back(chain);
        for (auto number = chain.first; number <= chain.last(); ++number)
            for (const auto& [slot, variable] : program.operators()[number].outputs) {
                const auto reader = readers.find(variable);
                if (reader != readers.end() && reader->second <= chain.last() && !keep.contains(variable) &&
                    !is_persistable(program.variable(variable).role))
                    found.inner.insert(variable);
            }
    }
    return found;
}

namespace {

/// Elements [first, first + count) of a tensor with `elements` elements; tensors of other lengths are used
/// whole in all blocks.
std::vector<kernels::SlotTensor> sliced(std::vector<kernels::SlotTensor> tensors, std::size_t elements,
                                        std::size_t first, std::size_t count,
                                        const std::set<const void*>& inner) {
    for (auto& [slot, tensor] : tensors) {
        if (tensor.size() != elements) continue;
        tensor.shape = {static_cast<std::int64_t>(count)};
        if (!inner.contains(tensor.data))
            tensor.data = static_cast<std::byte*>(tensor.data) + first * size_of(tensor.type);
    }
    return tensors;
}

}  // namespace

std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<ChainLink>& links,
                                                   const std::set<const void*>& inner) {
    const auto& whole = links.front().arguments.outputs.front().tensor;
    const auto elements = whole.size();
    std::vector<std::unique_ptr<kernels::Kernel>> parts;
    for (std::size_t first = 0; first < elements; first += chain_block) {
        const auto count = std::min(chain_block, elements - first);
        for (const auto& [type, arguments] : links) {
            kernels::KernelArguments of_block{sliced(arguments.inputs, elements, first, count, inner),
                                              sliced(arguments.outputs, elements, first, count, inner),
                                              arguments.attributes};
            of_block.slice = {arguments.outputs.front().tensor.shape, first};
            parts.push_back(kernels::make_cpu_kernel(type, of_block));
        }
    }
    return kernels::kernel_of([parts = std::move(parts)] {
        for (const auto& part : parts) part->run();
    });
}

}  // namespace dtrain::program
