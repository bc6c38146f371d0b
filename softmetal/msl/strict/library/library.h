// The Metal 3.1 standard library as declarations, for the check only: what has a body has it for
// constant expressions. Unqualified references and methods are generic here, so that they serve
// objects in every address space; where MSL names a space, so does this.
#pragma once

// clang-format off
#include "softmetal/msl/stdlib/macros.h"
#include "softmetal/msl/strict/library/words.h"
#include "softmetal/msl/strict/library/scalar.h"
#include "softmetal/msl/strict/library/bfloat.h"
#include "softmetal/msl/strict/library/vector.h"
#include "softmetal/msl/strict/library/traits.h"
#include "softmetal/msl/strict/library/operators.h"
#include "softmetal/msl/strict/library/math.h"
#include "softmetal/msl/strict/library/matrix.h"
#include "softmetal/msl/strict/library/groups.h"
#include "softmetal/msl/strict/library/internals.h"
// clang-format on
