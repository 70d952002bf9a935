// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/message/transport.hpp"

namespace dtrain::ps {

/// Writes a server's data to disk as of one moment, while the server goes on. Used by the server's thread.
class Saver {
  public:
    Saver() = default;
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;
    virtual ~Saver() = default;

    /// Fixes the current data as what is saved. @param request text from a trainer
    /// @throws std::exception on failure; then no save is in progress
    virtual void begin(const std::string& request) = 0;

    /// Does a piece of work without blocking, mostly less than a millisecond. False if there is nothing to do
    /// for now.
    virtual bool step() = 0;

    /// Whether finish() returns without waiting.
    virtual bool is_written() const = 0;

    /// Waits until everything is on disk. @returns the answer for the trainer
    /// @throws std::exception on failure; then no save is in progress
    virtual std::string finish() = 0;
};

/// Handles a trainer's save request: answers 'saving' once the data to save is fixed, and 'saved' when it is
/// on disk.
class RunningSave {
  public:
    /// @param transport must outlive this
    explicit RunningSave(comm::Transport& transport) : transport_(&transport) {}

    void use(std::unique_ptr<Saver> saver) { saver_ = std::move(saver); }

    /// Sets the function to call with the reason when a save fails.
    void on_failure(std::function<void(std::string_view)> on_failure) { on_failure_ = std::move(on_failure); }

    /// Begins the save that a rank requests. Returns false after answering 'failed'.
    bool begin(int rank, std::uint64_t request, const std::string& text);

    /// Drops the answer to a trainer that has left: it would not receive it.
    void forget(int rank);

    /// Does a piece of the save. False if there is nothing to do for now.
    bool go_on();

  private:
    void report_failure(std::string_view why) const {
        if (on_failure_) on_failure_(why);
    }

    comm::Transport* transport_;
    std::function<void(std::string_view)> on_failure_;  ///< may be empty
    std::unique_ptr<Saver> saver_;                      ///< may be null
    bool is_in_progress_ = false;
    std::optional<int> asked_by_;
    std::uint64_t request_ = 0;
};

}  // namespace dtrain::ps
