// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <dtrain/checkpoint.hpp>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// A copy of a server's dense part at one moment; any thread may write it.
class DenseCopy {
  public:
    DenseCopy(const ServerPlan& plan, const Server& server);

    /// Writes dense-NNNN-of-NNNN.h5, a checkpoint file of the server's blocks.
    /// @returns its entry for the manifest, as JSON @throws Error naming the file
    std::string write(const std::filesystem::path& folder) const;

  private:
    struct Block {
        std::string name;
        std::string variable;  ///< the variable that it is a block of
        std::int64_t first = 0;
        bool is_parameter = false;
    };
    std::string file_;
    std::vector<Block> blocks_;
    Checkpoint checkpoint_;
};

/// The saved dense tensors of all servers, as blocks of whole variables.
class SavedDense {
  public:
    /// @param servers from the manifest @throws UsageError naming the file that is missing or damaged
    SavedDense(std::filesystem::path folder, const nlohmann::json& servers);

    /// Sets all tensors of a server's dense part.
    /// @throws UsageError naming a tensor that is not completely saved
    void fill(const Program& program, const State& state) const;

  private:
    struct Part {
        std::string variable;
        std::int64_t first;
        CheckpointTensor::Values values;
    };
    void fill(const Program& program, const StateTensor& tensor) const;

    std::filesystem::path folder_;
    std::vector<Part> parts_;
};

}  // namespace dtrain::ps
