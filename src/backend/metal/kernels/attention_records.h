#pragma once
// Where partial results of attention lie (attention_decode.h).

#include <metal_stdlib>
#include "attention_decode.h"

// In floats from the first one's beginning.
static inline ulong attention_record(uint head, uint chunk, constant AttentionDecodeArgs& args) {
    return (ulong(head) * args.n_chunks + chunk) * (kDecodeRecordHead + args.head_dim);
}
