// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/element_span.hpp>

namespace dtrain {

/// A parameter of any library: where its values are and where its gradient is put. Memory of the caller's,
/// which stays where it is. Both are float, double, float16 or bfloat16; the gradient may be of another type
/// than the values.
struct ParameterBuffers {
    std::string name = {};
    ElementSpan values = {};
    ElementSpan gradient = {};  ///< as many elements
};

struct GradientAveragingOptions {
    /// A bucket, which is one all-reduce of gradients of one type, is closed when it has reached this size.
    /// 0: found at the start by timing all-reduces of the type that most bytes have; with several nodes sums
    /// may then be rounded otherwise from run to run.
    std::int64_t bucket_bytes = 0;
};

/// Data-parallel training with a library that computes gradients itself:
///
///     GradientAveraging averaging(world, parameters);   // all ranks have rank 0's values now
///     for (...) {
///         ... backward; the library calls averaging.ready(i) as soon as gradient i is there
///         averaging.finish();                           // all gradients are the ranks' averages now
///         ... update
///     }
///
/// Gradients are exchanged while the backward pass goes on. Use from the thread that may call MPI.
///
/// Averages of float and double are the communicator's sums, times 1 / ranks. Those of float16 and bfloat16
/// are made in float and rounded once (Reduction::average), so that a sum too large for float16 does no harm.
class GradientAveraging {
  public:
    /// @param parameters in the order in which the forward pass uses them; the same on all ranks. Collective.
    /// @throws UsageError on all ranks when there is none, a gradient has another size than its values, one
    /// of them is of integers, or the ranks have different parameters; MpiError.
    GradientAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                      const GradientAveragingOptions& options = {});
    GradientAveraging(GradientAveraging&&) noexcept;
    GradientAveraging& operator=(GradientAveraging&&) noexcept;
    ~GradientAveraging();

    /// The gradient of parameters[number] is complete. Parameters may become ready in any order, and
    /// different ones on different ranks.
    /// @throws Error when it was so already since the last finish(), or there is no such parameter; MpiError.
    void ready(std::size_t number);

    /// After the backward pass: every gradient is the average over the ranks then, where ranks that did not
    /// call ready() count as zero. Collective. @throws MpiError
    void finish();

    /// While this lives, ready() and finish() do nothing: the library adds up gradients of several batches.
    class [[nodiscard]] Pause {
      public:
        explicit Pause(GradientAveraging& averaging);
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;
        ~Pause();

      private:
        GradientAveraging& averaging_;
    };
    Pause no_sync() { return Pause(*this); }

    /// Sets all values to their averages over the ranks: after every k steps without finish() this is local
    /// SGD (Stich, ICLR 2019). Collective. @throws MpiError
    void average_values();

    /// True on all ranks when all have the same bits in their values. Collective. @throws MpiError
    bool values_are_identical() const;

    /// Of a full bucket, as given or found.
    std::int64_t bucket_bytes() const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
