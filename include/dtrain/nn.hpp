// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All that a network that is computed line by line needs, on one rank or on many: docs/layers.md.
#include <dtrain/nn_data.hpp>
#include <dtrain/nn_device.hpp>
#include <dtrain/nn_images.hpp>
#include <dtrain/nn_layer.hpp>
#include <dtrain/nn_tensor.hpp>
#include <dtrain/nn_training.hpp>
#include <dtrain/parallel_env.hpp>
