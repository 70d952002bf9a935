// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include <dtrain/compute_type.hpp>

namespace dtrain::kernels {

/// The CPU, and the queue that runs what it gets in order.
const dnnl::engine& onednn_engine();
const dnnl::stream& onednn_stream();

/// Attributes of primitives whose scratch memory is prepared, too; else every run would allocate it.
dnnl::primitive_attr onednn_attributes();

/// What a primitive does, prepared. oneDNN 2 wants the words that tell it as an object of their own, which
/// oneDNN 3 has no longer.
template <class Primitive, class... Words>
typename Primitive::primitive_desc prepare(const Words&... words) {
#if DNNL_VERSION_MAJOR < 3
    return typename Primitive::primitive_desc(typename Primitive::desc(words...), onednn_attributes(),
                                              onednn_engine());
#else
    return typename Primitive::primitive_desc(onednn_engine(), words..., onednn_attributes());
#endif
}

/// The same for a gradient, with what it is the gradient of.
template <class Primitive, class Forward, class... Words>
typename Primitive::primitive_desc prepare_gradient(const Forward& forward, const Words&... words) {
#if DNNL_VERSION_MAJOR < 3
    return typename Primitive::primitive_desc(typename Primitive::desc(words...), onednn_attributes(),
                                              onednn_engine(), forward);
#else
    return typename Primitive::primitive_desc(onednn_engine(), words..., forward, onednn_attributes());
#endif
}

/// Of what a product multiplies.
dnnl::memory::data_type factor_type(ComputeType numbers);

/// Primitives that run one after the other over memory that stays where it is.
class OnednnSequence {
  public:
    using Places = std::vector<std::pair<int, dnnl::memory>>;

    /// @param what the primitive does, for error messages
    explicit OnednnSequence(std::string_view what) : what_(what) {}

    /// Memory of somebody else.
    static dnnl::memory at(const dnnl::memory::desc& layout, const void* data);

    /// The content of `memory` in the layout and the numbers that a primitive wants: itself, or a copy that
    /// is made anew in every run.
    dnnl::memory in_layout(const dnnl::memory& memory, const dnnl::memory::desc& wanted);

    /// Where a primitive may write what is to end in `memory`: there, or memory of its own that
    /// add_copy_back() brings there.
    static dnnl::memory target(const dnnl::memory& memory, const dnnl::memory::desc& wanted);
    void add_copy_back(const dnnl::memory& from, const dnnl::memory& to);

    void add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, Places places);

    /// @throws Error when oneDNN fails
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
