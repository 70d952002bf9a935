// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dtrain {

enum class EnvUse {
    read,
    written,
    both,
    by_programs  ///< read by programs with libdtrain, so it is passed on to them
};

/// The contract that a variable belongs to; also the order of the page in docs/.
enum class EnvGroup {
    dtrain,
    open_mpi,
    hydra,
    slurm,
    pals,
    scheduler,
    paddle,
    paddle_cloud,
    torch,
    cuda,
    system
};

/// One environment variable that dtrain reads or writes.
struct EnvVariable {
    std::string_view name;
    EnvUse use = EnvUse::read;
    EnvGroup group = EnvGroup::system;
    std::string_view otherwise;  ///< the default if it is not set, or how the written value is determined
    std::string_view meaning;    ///< one sentence
};

/// Every environment variable that dtrain reads or writes, group by group.
std::span<const EnvVariable> env_table();

/// The entry with this name, or null.
const EnvVariable* find_env_variable(std::string_view name);

std::string_view to_string(EnvUse use);
std::string_view title_of(EnvGroup group);

/// Content of docs/environment.md.
std::string env_table_markdown();

}  // namespace dtrain
