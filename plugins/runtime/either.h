// either.h - one runtime plugin on the CPU and on NVIDIA GPUs. It has two halves, each a whole
// runtime; every hox_runtime, hox_samples and hox_runner begins with a pointer to the half that
// made it. Device 0 is the CPU, then come the GPUs.
#pragma once

#include <hox/runtime.h>

// The plugin's own.
extern const hox_runtime_api runtime_on_cpu;
extern const hox_runtime_api runtime_on_cuda;

// What it exports: each call goes to the half that the device or the first argument belongs to.
// What a half lacks is unsupported there.
extern const hox_runtime_api runtime_on_either;
