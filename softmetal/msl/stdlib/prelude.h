// What stands in front of every translated file: the library, then what the translator's own text
// needs.
#pragma once

#include "softmetal/msl/stdlib/metal.h"

#include "softmetal/msl/stdlib/entry.h"
