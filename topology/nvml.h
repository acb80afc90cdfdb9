// NVLinks and GPUs' numbers from NVIDIA's management library, loaded for the time of one call. Any
// thread; blocks while the driver answers.
#pragma once

#include "topology/topology.h"

namespace thinwire::topology {

// Gives the GPUs of `machine` their NVML numbers and compute capabilities, and adds their NVLinks.
// Without libnvidia-ml.so.1, or where it answers nothing, the machine stays as it is. False then.
// Source: NVML API reference, CUDA 12 (nvmlDeviceGetNvLinkState, nvmlDeviceGetNvLinkRemotePciInfo).
bool complete_from_nvml(Machine& machine);

}  // namespace thinwire::topology
