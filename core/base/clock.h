// clock.h - time that only moves forward.
#pragma once

#include <stdint.h>

uint64_t clock_ns(void); // since some start [any]
double clock_seconds_since(uint64_t start_ns);
