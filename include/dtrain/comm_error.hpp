// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain {

/// MPI error codes ("MPI_ERR_TRUNCATE: message truncated").
const std::error_category& mpi_category();

/// A failed MPI call: `code().category()` is mpi_category().
class MpiError : public Error {
  public:
    /// @param operation the function of MPI @param code its result
    MpiError(const std::string& operation, int code)
        : Error(operation + " failed: " + mpi_category().message(code)), code_(code, mpi_category()) {}

    /// The code that MPI returned.
    const std::error_code& code() const { return code_; }

  private:
    std::error_code code_;
};

/// Ranks run different versions of dtrain. All of them throw it, before anything else is exchanged.
class VersionMismatch : public UsageError {
  public:
    /// @param versions by rank
    VersionMismatch(const std::string& message, std::vector<std::string> versions)
        : UsageError(message), versions_(std::move(versions)) {}

    const std::vector<std::string>& versions() const { return versions_; }  ///< by rank

  private:
    std::vector<std::string> versions_;
};

/// A communicator whose memory is that of GPUs was given for arrays in memory of the host.
class GpuCommunicatorError : public UsageError {
  public:
    /// @param gpu see gpu()
    GpuCommunicatorError(const std::string& message, std::string gpu)
        : UsageError(message), gpu_(std::move(gpu)) {}

    /// What the communicator runs on: "NCCL 2.28.9 on GPU 0".
    const std::string& gpu() const { return gpu_; }

  private:
    std::string gpu_;
};

/// A rank that others wait for.
struct MissingRank {
    int rank = 0;          ///< in the communicator that waited
    std::string why = {};  ///< "in no operation; its last one was number 41", "did not answer"
};

/// Ranks did not enter an operation, or did not progress in it, before the deadline (DTRAIN_COMM_TIMEOUT).
/// All waiting ranks throw it at about the same time; a rank that enters later throws it at once. Afterwards
/// only shutting down is possible: operations throw it again, destructors do not wait and MPI is not
/// finalised. Report the error and call abort_job().
class CommunicatorTimeout : public Error {
  public:
    /// @param number of the operation, from 1 @param waited until the deadline
    CommunicatorTimeout(const std::string& message, std::string operation, std::uint64_t number,
                        std::chrono::duration<double> waited, std::vector<MissingRank> missing)
        : Error(message),
          operation_(std::move(operation)),
          number_(number),
          waited_(waited),
          missing_(std::move(missing)) {}

    const std::string& operation() const { return operation_; }  ///< "allreduce"
    std::uint64_t number() const { return number_; }  ///< of the operation within its communicator, from 1
    /// How long this rank has waited.
    std::chrono::duration<double> waited() const { return waited_; }
    /// The ranks that it waited for.
    const std::vector<MissingRank>& missing() const { return missing_; }

  private:
    std::string operation_;
    std::uint64_t number_;
    std::chrono::duration<double> waited_;
    std::vector<MissingRank> missing_;
};

}  // namespace dtrain
