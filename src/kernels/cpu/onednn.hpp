// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include <dtrain/compute_type.hpp>

namespace dtrain::kernels {

/// The CPU engine, and the stream that runs primitives in order.
const dnnl::engine& onednn_engine();
const dnnl::stream& onednn_stream();

/// Attributes of primitives whose scratch memory is also prepared; otherwise every run would allocate it.
dnnl::primitive_attr onednn_attributes();

/// A primitive descriptor. oneDNN 2 needs an operation descriptor as a separate object, which oneDNN 3 no
/// longer has.
template <class Primitive, class... Words>
typename Primitive::primitive_desc prepare(const Words&... words) {
#if DNNL_VERSION_MAJOR < 3
    return typename Primitive::primitive_desc(typename Primitive::desc(words...), onednn_attributes(),
                                              onednn_engine());
#else
    return typename Primitive::primitive_desc(onednn_engine(), words..., onednn_attributes());
#endif
}

/// The same for a gradient, with the descriptor of the forward primitive.
template <class Primitive, class Forward, class... Words>
typename Primitive::primitive_desc prepare_gradient(const Forward& forward, const Words&... words) {
#if DNNL_VERSION_MAJOR < 3
    return typename Primitive::primitive_desc(typename Primitive::desc(words...), onednn_attributes(),
                                              onednn_engine(), forward);
#else
    return typename Primitive::primitive_desc(onednn_engine(), words..., forward, onednn_attributes());
#endif
}

/// The type of a product's factors.
dnnl::memory::data_type factor_type(ComputeType numbers);

/// Primitives that run one after the other over memory that does not move.
class OnednnSequence {
  public:
    using Arguments = std::vector<std::pair<int, dnnl::memory>>;

    /// @param what describes the sequence in error messages
    explicit OnednnSequence(std::string_view what) : what_(what) {}

    /// Wraps memory that is not owned.
    static dnnl::memory at(const dnnl::memory::desc& layout, const void* data);

    /// The contents of `memory` in the layout and type that a primitive requires: `memory` itself, or a copy
    /// that is updated in every run.
    dnnl::memory in_layout(const dnnl::memory& memory, const dnnl::memory::desc& wanted);

    /// Where a primitive may write a result that belongs in `memory`: there, or in separate memory that
    /// add_copy_back() copies there.
    static dnnl::memory target(const dnnl::memory& memory, const dnnl::memory::desc& wanted);
    void add_copy_back(const dnnl::memory& from, const dnnl::memory& to);

    void add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, Arguments arguments);

    /// @throws Error if oneDNN fails
    void run();

  private:
    struct Step {
        dnnl::primitive primitive;
        std::vector<dnnl_exec_arg_t> arguments;
    };

    void add_reorder(const dnnl::memory& from, const dnnl::memory& to);

    std::string_view what_;
    std::vector<Step> steps_;
    std::vector<dnnl::memory> memories_;  // keeps them alive
};

}  // namespace dtrain::kernels
