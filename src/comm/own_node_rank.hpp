// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::comm {

/// This process' number among the ranks of its node in the world that MpiSession made; 0 without one. For who
/// is given no communicator.
int own_node_rank();

/// By MpiSession.
void note_own_node_rank(int rank);

}  // namespace dtrain::comm
