// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything else in this library is hidden: these functions are all that it gives to programs.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
