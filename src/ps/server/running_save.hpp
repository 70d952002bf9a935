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

#include "comm/transport.hpp"

namespace dtrain::ps {

/// Brings what a server has to disk, as it is at one moment, while the server goes on. For the server's
/// thread.
class Saver {
  public:
    Saver() = default;
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;
    virtual ~Saver() = default;

    /// What is there now is to be saved. @param request a trainer's
    /// @throws std::exception when it cannot be; nothing is in progress then
    virtual void begin(const std::string& request) = 0;

    /// A piece of work, mostly of less than a millisecond, that does not wait. False: there is none for now.
    virtual bool step() = 0;

    /// Whether finish() would not wait.
    virtual bool is_written() const = 0;

    /// Waits until all lies on the disk. @returns what the trainer is told
    /// @throws std::exception when it does not; nothing is in progress then
    virtual std::string finish() = 0;
};

/// The save that a trainer has asked for: it is answered by 'saving' when it is fixed what will be saved, and
/// by 'saved' when that is done.
class RunningSave {
  public:
    /// @param transport outlives this
    explicit RunningSave(comm::Transport& transport) : transport_(&transport) {}

    void use(std::unique_ptr<Saver> saver) { saver_ = std::move(saver); }

    /// Called with the reason why a save failed.
    void on_failure(std::function<void(std::string_view)> on_failure) { on_failure_ = std::move(on_failure); }

    /// Begins what the message asks for. False: it is answered by 'failed'.
    bool begin(const comm::Message& asked);

    /// Who has left gets no answer any more: nobody would take it.
    void forget(int rank);

    /// A piece of it. False when there is nothing to do now.
    bool go_on();

  private:
    void report_failure(std::string_view why) const {
        if (on_failure_) on_failure_(why);
    }

    comm::Transport* transport_;
    std::function<void(std::string_view)> on_failure_;  ///< or none
    std::unique_ptr<Saver> saver_;                      ///< or none
    bool is_in_progress_ = false;
    std::optional<int> asked_by_;
    std::uint64_t request_ = 0;
};

}  // namespace dtrain::ps
