// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// Captured work of a stream that can be launched repeatedly: a CUDA graph.
class Graph {
  public:
    /// @param give enqueues the work in the stream, which does not execute it
    Graph(const Stream& stream, const std::function<void()>& give);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void run(const Stream& stream) const;

    /// The names of the kernels, if they have one, and "copy".
    std::vector<std::string> parts() const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain::gpu
