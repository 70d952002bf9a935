// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Includes all headers of the eager API (networks computed line by line), for one rank or many:
/// docs/layers.md.
#include <dtrain/nn_data.hpp>
#include <dtrain/nn_device.hpp>
#include <dtrain/nn_images.hpp>
#include <dtrain/nn_layer.hpp>
#include <dtrain/nn_tensor.hpp>
#include <dtrain/nn_training.hpp>
#include <dtrain/parallel_env.hpp>
