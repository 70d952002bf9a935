// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// for_each(stream, count, body): calls body(i) for all i below count, in no particular order. launch(stream,
// blocks, threads, body): calls body(block) in all threads of this many blocks, see block.hpp. A body is a
// struct of pointers and numbers with an ON_DEVICE operator().
#ifdef __CUDACC__
#include "gpu/cuda/launch.hpp"
#else
#include "gpu/processor/launch.hpp"
#endif
