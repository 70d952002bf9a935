/* SPDX-FileCopyrightText: dtrain contributors */
/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include <dtrain/c_api.h>

/// Ends the program with status 1 and a line if the condition is false. `rank` is this rank's number.
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "rank %d: %s:%d: %s; last error: %s\n", rank, __FILE__, __LINE__, \
                    #condition, dtrain_last_error()->message);                               \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)
#define OK(call) CHECK((call) == DTRAIN_OK)
