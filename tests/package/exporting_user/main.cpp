// SPDX-License-Identifier: Apache-2.0
// 6 * 7, exact in float.
#include <sensor.hpp>

int main() {
  return multiply(6, 7) == 42 ? 0 : 1;
}
