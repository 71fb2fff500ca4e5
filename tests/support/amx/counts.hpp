// SPDX-License-Identifier: Apache-2.0
// How the parts of the emulator add to its counts; emulator.hpp reads them.
#pragma once
#include "support/amx/emulator.hpp"

namespace amx_emulator {

void count(Operation operation);
void count(Event event);

}
