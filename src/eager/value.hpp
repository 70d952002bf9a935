// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dtrain/tensor.hpp>

#include "eager/block_pool.hpp"

namespace dtrain::eager {

/// The numbers of a tensor, without how they came to be. Copies share the memory.
struct Value {
    std::shared_ptr<std::byte> memory;
    Shape shape;
    DataType type = DataType::float32;

    TensorView view() const { return {memory.get(), shape, type}; }

    template <class Element>
    std::span<Element> as() const {
        return view().as<Element>();
    }
};

/// The pool of this process.
BlockPool& pool();

/// Of any content.
Value make_value(const Shape& shape, DataType type);

/// One number: a counter.
Value make_number(std::int64_t number);

}  // namespace dtrain::eager
