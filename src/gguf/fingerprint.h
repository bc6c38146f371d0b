#pragma once
// Tells model files apart without reading all of them.

#include <cstdint>

#include "gguf/reader.h"

namespace minfer::gguf {

constexpr size_t kSampleBytes = 4096;

// XXH3-64 of the metadata, of every tensor's name, type and shape, and of the first and the last
// kSampleBytes of its data: equal for two copies of a file, also where one of them is in parts;
// different for other weights under the same metadata. Reads two pages a tensor, at most.
uint64_t fingerprint(const File& file);

}  // namespace minfer::gguf
