// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace dtrain::cluster {

/// Which of a rank's streams something is for, as torchrun's --redirects and --tee have it: "3" for both
/// streams of all ranks, or by local rank "0:3,1:1"; ranks that are not named have none.
class StreamChoice {
  public:
    struct Streams {
        bool out = false;
        bool err = false;
        friend bool operator==(const Streams&, const Streams&) = default;
    };

    StreamChoice() = default;
    /// @throws UsageError with the text and what it may be
    static StreamChoice parse(const std::string& text);

    /// What parse() reads.
    std::string text() const;
    Streams of(int local_rank) const;
    bool any() const;

    friend bool operator==(const StreamChoice&, const StreamChoice&) = default;

  private:
    Streams of_all_;
    std::map<int, Streams> of_rank_;
};

}  // namespace dtrain::cluster
