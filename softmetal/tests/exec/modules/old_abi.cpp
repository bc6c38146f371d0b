// A module of another time.
#include "hand_module.h"

extern "C" __attribute__((visibility("default")))
const sm_module softmetal_module = {.abi_version = 41, .query = &active_query};
