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

/// A parameter of any library: the buffers of its values and of its gradient, in memory of the host. The
/// memory is owned by the caller and must not move. Element types are float, double, float16 or bfloat16; the
/// gradient may have another type than the values.
struct ParameterBuffers {
    std::string name = {};  ///< for messages; the same on all ranks
    /// of the parameter, which GradientAveraging broadcasts and average_values() averages
    ElementSpan values = {};
    ElementSpan gradient = {};  ///< same number of elements as `values`
};

/// Options of GradientAveraging.
struct GradientAveragingOptions {
    /// Size of a bucket. A bucket is one all-reduce of gradients of one type; it is closed once it has
    /// reached this size. 0: determined at the start by timing all-reduces of the type with the most bytes;
    /// with several nodes, sums may then be rounded differently from run to run.
    std::int64_t bucket_bytes = 0;
};

/// Data-parallel training with a library that computes gradients itself:
///
///     GradientAveraging averaging(world, parameters);   // all ranks have rank 0's values now
///     for (...) {
///         ... backward; the library calls averaging.ready(i) as soon as gradient i is computed
///         averaging.finish();                           // all gradients are the ranks' averages now
///         ... update
///     }
///
/// Gradients are exchanged while the backward pass is running. Use from the thread that may call MPI.
///
/// Averages of float and double are the communicator's sums times 1 / ranks. Those of float16 and bfloat16
/// are computed in float and rounded once (Reduction::average), so a sum that overflows float16 does no harm.
class GradientAveraging {
  public:
    /// @param parameters in the order in which the forward pass uses them; the same on all ranks. Collective.
    /// @throws UsageError on all ranks if there are no parameters, a gradient has another size than its
    /// values, one of them has an integer type, or the ranks have different parameters; GpuCommunicatorError
    /// if the communicator is over NCCL, for the buffers are memory of the host; MpiError.
    GradientAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                      const GradientAveragingOptions& options = {});
    GradientAveraging(GradientAveraging&&) noexcept;
    GradientAveraging& operator=(GradientAveraging&&) noexcept;
    ~GradientAveraging();

    /// Reports that the gradient of parameters[number] is complete. Parameters may become ready in any order,
    /// which may differ between ranks.
    /// @throws Error if it was already ready since the last finish(), or if there is no such parameter;
    /// MpiError.
    void ready(std::size_t number);

    /// Call after the backward pass: afterwards every gradient is the average over the ranks; ranks that did
    /// not call ready() contribute zero. Collective. @throws MpiError
    void finish();

    /// While a Pause exists, ready() and finish() do nothing, so that the library accumulates gradients of
    /// several batches.
    class [[nodiscard]] Pause {
      public:
        /// Begins the pause. @param averaging must outlive it
        explicit Pause(GradientAveraging& averaging);
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;
        ~Pause();

      private:
        GradientAveraging& averaging_;
    };
    /// Pauses until the result is destroyed.
    Pause no_sync() { return Pause(*this); }

    /// Sets all values to their averages over the ranks: called every k steps without finish(), this is local
    /// SGD (Stich, ICLR 2019). Collective. @throws MpiError
    void average_values();

    /// True on all ranks if the values of all of them are bitwise identical. Collective. @throws MpiError
    bool values_are_identical() const;

    /// Size at which a bucket is closed, as given or as determined at the start.
    std::int64_t bucket_bytes() const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
