// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/cpu/product_library.hpp"

namespace dtrain::kernels {

std::string onednn_version() {
    const auto* loaded = dnnl_version();
    return fmt::format("{}.{}.{}", loaded->major, loaded->minor, loaded->patch);
}

const dnnl::engine& onednn_engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

const dnnl::stream& onednn_stream() {
    static const dnnl::stream in_order(onednn_engine());
    return in_order;
}

dnnl::primitive_attr onednn_attributes() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

dnnl::memory::data_type factor_type(ComputeType numbers) {
    if (numbers == ComputeType::float16) throw Error("only GPUs multiply float16");
    return numbers == ComputeType::bfloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory OnednnSequence::at(const dnnl::memory::desc& layout, const void* data) {
    return {layout, onednn_engine(), const_cast<void*>(data)};
}

dnnl::memory OnednnSequence::in_layout(const dnnl::memory& memory, const dnnl::memory::desc& wanted) {
    if (memory.get_desc() == wanted) return memory;
    const dnnl::memory copy(wanted, onednn_engine());
    add_reorder(memory, copy);
    return copy;
}

dnnl::memory OnednnSequence::target(const dnnl::memory& memory, const dnnl::memory::desc& wanted) {
    return memory.get_desc() == wanted ? memory : dnnl::memory(wanted, onednn_engine());
}

void OnednnSequence::add_copy_back(const dnnl::memory& from, const dnnl::memory& to) {
    if (from.get_desc() != to.get_desc()) add_reorder(from, to);
}

void OnednnSequence::add_reorder(const dnnl::memory& from, const dnnl::memory& to) {
    const dnnl::reorder::primitive_desc prepared(onednn_engine(), from.get_desc(), onednn_engine(),
                                                 to.get_desc(), onednn_attributes());
    add(dnnl::reorder(prepared), prepared.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void OnednnSequence::add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                         Arguments arguments) {
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, onednn_engine()));
    Step step{primitive, {}};
    for (const auto& [argument, memory] : arguments) {
        step.arguments.push_back({argument, memory.get()});
        memories_.push_back(memory);
    }
    steps_.push_back(std::move(step));
}

void OnednnSequence::run() {
    // The C++ call would copy its map of arguments every time.
    for (const auto& step : steps_) {
        const auto status =
            dnnl_primitive_execute(step.primitive.get(), onednn_stream().get(),
                                   static_cast<int>(step.arguments.size()), step.arguments.data());
        if (status != dnnl_success)
            throw Error(fmt::format("oneDNN failed with status {} in {}", static_cast<int>(status), what_));
    }
}

}  // namespace dtrain::kernels
