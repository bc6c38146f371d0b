#pragma once
// Arguments of the row gathers.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct GetRowsArgs {
    uint32_t width;      // elements of a row
    uint32_t row_bytes;  // of a row as stored
    uint32_t n_rows;     // in the table
    uint32_t n_out;      // rows wanted
    uint32_t pieces;     // threads that share a row
};
static_assert(sizeof(GetRowsArgs) == 20, "as the host lays it out");

// Elements that a thread takes, at most: of a table of weights, and of f32 rows.
enum { kGetRowsWeights = 16, kGetRowsFloats = 4 };
