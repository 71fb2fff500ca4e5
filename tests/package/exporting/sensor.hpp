// SPDX-License-Identifier: Apache-2.0
// The interface of a library that uses edgeq inside.
#pragma once

/// The product of two numbers, by way of a layer of one weight.
float multiply(float weight, float x);
