// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// for_each(stream, count, body): body(i) for all i below count, in no order.
// launch(stream, blocks, threads, body): body(block) in all threads of so many blocks, see block.hpp.
// A body is a struct of pointers and numbers with an ON_DEVICE operator().
#ifdef __CUDACC__
#include "gpu/cuda/launch.hpp"
#else
#include "gpu/processor/launch.hpp"
#endif
