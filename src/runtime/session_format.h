#pragma once
// Session files, version 3, as docs/sessions.md has them: everything but the cells and the
// checksum, from checked structures to bytes and back. Knows no file and no device.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "graph/op.h"
#include "runtime/kv_cache.h"
#include "runtime/kv_store.h"

namespace minfer {

constexpr std::array<char, 8> kSessionMagic = {'M', 'I', 'N', 'F', 'E', 'R', 'K', 'V'};
constexpr uint32_t kSessionVersion = 3;
constexpr uint32_t kByteOrderMark = 0x01020304;
constexpr uint32_t kFlagPacked = 1, kFlagF16 = 2;  // q8_0; f16; none: f32
constexpr size_t kMaxSessionSequences = 4096;
constexpr size_t kMaxHostBytes = 64 << 20;

// What a session was saved under, and what it is loaded into: all of it must be equal.
struct SessionShape {
    uint64_t fingerprint = 0;  // of the model
    size_t n_layer = 0, n_ctx = 0, n_vocab = 0;
    KvLayout layout;
};

// The first bytes, as they lie in the file.
struct SessionHeader {
    std::array<char, 8> magic = kSessionMagic;
    uint32_t version = kSessionVersion;
    uint32_t flags = 0;
    uint32_t byte_order = kByteOrderMark;
    uint32_t n_layer = 0, n_ctx = 0;
    uint32_t n_kv_embd = 0;  // elements of a cell
    uint32_t row_bytes = 0;  // of a cell
    uint32_t n_seq = 0;
    uint64_t fingerprint = 0;
    uint64_t n_rows = 0;           // cells that some sequence reads
    uint64_t sequences_bytes = 0;  // of what follows: the sequences,
    uint64_t host_bytes = 0;       // and the host's own
    uint64_t compactions = 0, cells_moved = 0, copies_on_write = 0, rows_copied_on_write = 0;
};
static_assert(sizeof(SessionHeader) == 104 &&
              std::has_unique_object_representations_v<SessionHeader>);

// In front of each layer's cells.
struct SessionLayer {
    uint32_t layer = 0;
    uint32_t backend = 0;  // BackendId: where it lay; it may be loaded anywhere
    uint64_t k_bytes = 0, v_bytes = 0;
};
static_assert(sizeof(SessionLayer) == 24 && std::has_unique_object_representations_v<SessionLayer>);

template <class T>
std::span<const std::byte> bytes_of(const T& fields) {
    return std::as_bytes(std::span(&fields, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of(T& fields) {
    return std::as_writable_bytes(std::span(&fields, 1));
}

// What sequences there are.
struct SessionSequences {
    KvStore store;
    std::map<SeqId, KvTokens> tokens;  // of every sequence in the store
};

SessionHeader make_session_header(const SessionShape& shape, const KvStore& store);

// Of a file's first bytes, all of them or as many as a header has. Errors, in this order: not a
// session at all, another version (Unsupported), other byte order, truncated.
Result<SessionHeader> read_session_header(std::span<const std::byte> start);

// Of a whole file with this header; BadInput when no file can be so long.
Result<uint64_t> session_bytes(const SessionHeader& header);

// Names the first field that is impossible, or not that of this run.
Result<> check_session_header(const SessionHeader& header, const SessionShape& run);
Result<> check_session_layer(const SessionLayer& found, uint32_t layer,
                             const SessionHeader& header);

// The most that sequences_bytes can be in a file with this header that this run could load.
uint64_t max_sequences_bytes(const SessionHeader& header, const SessionShape& run);

// Asserts that each sequence has as many tokens as positions.
std::vector<std::byte> encode_sequences(const KvStore& store,
                                        const std::map<SeqId, KvTokens>& tokens);
// Of a header that was checked. Everything agrees: cells with each other and with the header, token
// lists with positions and vocabulary.
Result<SessionSequences> decode_sequences(std::span<const std::byte> bytes,
                                          const SessionHeader& header, const SessionShape& run);

// Runs of cells that some sequence reads, from cell 0 on; usage().written cells in all.
std::vector<CellRun> readable_cells(const KvStore& store);

}  // namespace minfer
