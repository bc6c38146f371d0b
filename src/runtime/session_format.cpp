#include "runtime/session_format.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/byte_reader.h"

namespace minfer {
namespace {

// In front of each sequence's shared runs and tokens.
struct SequenceFields {
    uint32_t id = 0;
    uint32_t written = 0, exact = 0, n_tokens = 0;
    uint32_t own_cell = 0, own_rows = 0;
    uint32_t n_shared = 0;
};
struct RunFields {
    uint32_t cell = 0, rows = 0;
};
static_assert(sizeof(SequenceFields) == 28 && sizeof(RunFields) == 8);

uint32_t flags_of(KvFormat format) {
    switch (format) {
        case KvFormat::F32:
            return 0;
        case KvFormat::F16:
            return kFlagF16;
        case KvFormat::Q8_0:
            return kFlagPacked;
    }
    std::unreachable();
}

Result<KvFormat> format_of(uint32_t flags) {
    for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
        if (flags == flags_of(format)) return format;
    if (flags == (kFlagPacked | kFlagF16))
        return fail(Fault::BadInput, "flags say that its cells are q8_0 and that they are f16");
    return fail(Fault::BadInput, "flags are {:#x}, known are {:#x} (q8_0) and {:#x} (f16)", flags,
                kFlagPacked, kFlagF16);
}

template <class T>
T field(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

template <class T>
Result<T> read(ByteReader& in) {
    return field<T>(MINFER_TRY(in.take(sizeof(T))));
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& fields) {
    const auto more = bytes_of(fields);
    bytes.insert(bytes.end(), more.begin(), more.end());
}

Result<> same(std::string_view what, uint64_t found, uint64_t wanted) {
    if (found == wanted) return {};
    return fail(Fault::BadInput, "{} is {}, this run's is {}", what, found, wanted);
}

Result<KvSequence> read_sequence(ByteReader& in, const SequenceFields& fields) {
    auto sequence = KvSequence{.shared = {},
                               .own = {.cell = fields.own_cell, .rows = fields.own_rows},
                               .written = fields.written};
    if (fields.n_shared >= kKvMapMaxSpans)
        return fail(Fault::BadInput, "{} shared runs of cells, at most {} are allowed",
                    fields.n_shared, kKvMapMaxSpans - 1);
    for (uint32_t i = 0; i < fields.n_shared; ++i) {
        const auto run = MINFER_TRY(read<RunFields>(in));
        sequence.shared.push_back({.cell = run.cell, .rows = run.rows});
    }
    return sequence;
}

Result<KvTokens> read_tokens(ByteReader& in, const SequenceFields& fields, size_t n_vocab) {
    if (fields.n_tokens != fields.written)
        return fail(Fault::BadInput, "{} tokens for {} positions", fields.n_tokens, fields.written);
    if (fields.exact > fields.written)
        return fail(Fault::BadInput, "{} exact positions of {}", fields.exact, fields.written);
    const auto ids = MINFER_TRY(in.take(size_t{fields.n_tokens} * sizeof(uint32_t)));
    auto tokens = KvTokens{.ids = {}, .exact = fields.exact};
    tokens.ids.reserve(fields.n_tokens);
    for (size_t i = 0; i < fields.n_tokens; ++i) {
        const auto id = field<uint32_t>(ids.subspan(i * sizeof(uint32_t)));
        if (id >= n_vocab)
            return fail(Fault::BadInput, "token {} has id {}, allowed are ids below {}", i, id,
                        n_vocab);
        tokens.ids.push_back(static_cast<TokenId>(id));
    }
    return tokens;
}

}  // namespace

SessionHeader make_session_header(const SessionShape& shape, const KvStore& store) {
    const auto& counters = store.counters();
    return {.flags = flags_of(shape.layout.format),
            .n_layer = static_cast<uint32_t>(shape.n_layer),
            .n_ctx = static_cast<uint32_t>(shape.n_ctx),
            .n_kv_embd = static_cast<uint32_t>(shape.layout.width),
            .row_bytes = static_cast<uint32_t>(shape.layout.row_bytes),
            .n_seq = static_cast<uint32_t>(store.sequences().size()),
            .fingerprint = shape.fingerprint,
            .n_rows = store.usage().written,
            .compactions = counters.compactions,
            .cells_moved = counters.cells_moved,
            .copies_on_write = counters.copies_on_write,
            .rows_copied_on_write = counters.rows_copied_on_write};
}

Result<SessionHeader> read_session_header(std::span<const std::byte> start) {
    SessionHeader header{.magic = {}, .version = 0, .byte_order = 0};
    const auto held = std::min(start.size(), sizeof header);
    std::ranges::copy(start.first(held), writable_bytes_of(header).begin());
    if (header.magic != kSessionMagic) return fail(Fault::BadInput, "is not a session file");
    const auto has = [&](const auto& last) {
        return held >= static_cast<size_t>(reinterpret_cast<const char*>(&last + 1) -
                                           reinterpret_cast<const char*>(&header));
    };
    // A file of the other order shows its version as another number, too.
    if (has(header.byte_order) && header.byte_order == std::byteswap(kByteOrderMark))
        return fail(Fault::BadInput, "is in big-endian byte order, expected little-endian");
    if (has(header.version) && header.version != kSessionVersion)
        return fail(Fault::Unsupported, "is a session file of version {}, expected version {}",
                    header.version, kSessionVersion);
    if (has(header.byte_order) && header.byte_order != kByteOrderMark)
        return fail(Fault::BadInput, "byte-order mark is {:#010x}, expected {:#010x}",
                    header.byte_order, kByteOrderMark);
    if (held < sizeof header)
        return fail(Fault::BadInput, "is truncated: {} bytes, the header alone has {}", held,
                    sizeof header);
    return header;
}

Result<uint64_t> session_bytes(const SessionHeader& header) {
    uint64_t region = 0, layers = 0, total = sizeof(SessionHeader) + sizeof(uint64_t);
    bool wraps = __builtin_mul_overflow(header.n_rows, uint64_t{header.row_bytes} * 2, &region);
    wraps |= __builtin_add_overflow(region, sizeof(SessionLayer), &region);
    wraps |= __builtin_mul_overflow(region, uint64_t{header.n_layer}, &layers);
    for (const auto part : {header.sequences_bytes, header.host_bytes, layers})
        wraps |= __builtin_add_overflow(total, part, &total);
    if (wraps)
        return fail(Fault::BadInput,
                    "describes more bytes than a file can have: {} layers of {} cells of {} bytes, "
                    "sequences of {}, {} of the host",
                    header.n_layer, header.n_rows, header.row_bytes, header.sequences_bytes,
                    header.host_bytes);
    return total;
}

Result<> check_session_header(const SessionHeader& header, const SessionShape& run) {
    const auto format = MINFER_TRY(format_of(header.flags));
    if (header.fingerprint != run.fingerprint)
        return fail(Fault::BadInput,
                    "belongs to another model: fingerprint {:016x}, this model's is {:016x}",
                    header.fingerprint, run.fingerprint);
    MINFER_TRY(same("number of layers", header.n_layer, run.n_layer));
    MINFER_TRY(same("KV width", header.n_kv_embd, run.layout.width));
    if (format != run.layout.format)
        return fail(Fault::BadInput, "KV format is {}, this run's is {}", name(format),
                    name(run.layout.format));
    MINFER_TRY(same("bytes of a cell", header.row_bytes, run.layout.row_bytes));
    MINFER_TRY(same("n_ctx", header.n_ctx, run.n_ctx));
    if (header.n_seq > kMaxSessionSequences)
        return fail(Fault::BadInput, "has {} sequences, at most {} are allowed", header.n_seq,
                    kMaxSessionSequences);
    if (header.host_bytes > kMaxHostBytes)
        return fail(Fault::BadInput, "has {} bytes of the host's, at most {} are allowed",
                    header.host_bytes, kMaxHostBytes);
    if (const auto most = max_sequences_bytes(header, run); header.sequences_bytes > most)
        return fail(Fault::BadInput, "has {} bytes of sequences, at most {} are allowed",
                    header.sequences_bytes, most);
    return {};
}

Result<> check_session_layer(const SessionLayer& found, uint32_t layer,
                             const SessionHeader& header) {
    if (found.layer != layer)
        return fail(Fault::BadInput, "layer {} is where layer {} should be", found.layer, layer);
    if (found.backend > std::to_underlying(BackendId::Cuda))
        return fail(Fault::BadInput, "layer {} lay on backend {}, known are 0 to {}", layer,
                    found.backend, std::to_underlying(BackendId::Cuda));
    const auto bytes = header.n_rows * header.row_bytes;
    if (found.k_bytes != bytes || found.v_bytes != bytes)
        return fail(Fault::BadInput, "layer {} has {} and {} bytes of cells, {} cells have {}",
                    layer, found.k_bytes, found.v_bytes, header.n_rows, bytes);
    return {};
}

uint64_t max_sequences_bytes(const SessionHeader& header, const SessionShape& run) {
    const auto most = std::min<uint64_t>(header.n_seq, kMaxSessionSequences);
    return most * (sizeof(SequenceFields) + (kKvMapMaxSpans - 1) * sizeof(RunFields) +
                   run.n_ctx * sizeof(uint32_t));
}

std::vector<std::byte> encode_sequences(const KvStore& store,
                                        const std::map<SeqId, KvTokens>& tokens) {
    std::vector<std::byte> bytes;
    const auto u32 = [](size_t value) { return static_cast<uint32_t>(value); };
    for (const auto& [id, sequence] : store.sequences()) {
        const auto found = tokens.find(id);
        MINFER_ASSERT(found != tokens.end() && found->second.ids.size() == sequence.written);
        append(bytes, SequenceFields{.id = std::to_underlying(id),
                                     .written = u32(sequence.written),
                                     .exact = u32(found->second.exact),
                                     .n_tokens = u32(sequence.written),
                                     .own_cell = u32(sequence.own.cell),
                                     .own_rows = u32(sequence.own.rows),
                                     .n_shared = u32(sequence.shared.size())});
        for (const auto& run : sequence.shared)
            append(bytes, RunFields{.cell = u32(run.cell), .rows = u32(run.rows)});
        for (const auto token : found->second.ids) append(bytes, static_cast<uint32_t>(token));
    }
    return bytes;
}

Result<SessionSequences> decode_sequences(std::span<const std::byte> bytes,
                                          const SessionHeader& header, const SessionShape& run) {
    auto in = ByteReader(bytes);
    std::map<SeqId, KvSequence> sequences;
    std::map<SeqId, KvTokens> tokens;
    for (uint32_t i = 0; i < header.n_seq; ++i) {
        const auto fields = read<SequenceFields>(in);
        if (!fields) return at("sequences", fields.error());
        const auto seq = SeqId{fields->id};
        if (!sequences.empty() && sequences.rbegin()->first >= seq)
            return fail(Fault::BadInput, "sequence {} follows sequence {}", fields->id,
                        std::to_underlying(sequences.rbegin()->first));
        const auto name = fmt::format("sequence {}", fields->id);
        auto sequence = read_sequence(in, *fields);
        if (!sequence) return at(name, std::move(sequence).error());
        if (fields->written > run.n_ctx || fields->own_rows > run.n_ctx)
            return fail(Fault::BadInput, "{}: {} positions in room for {}, n_ctx is {}", name,
                        fields->written, fields->own_rows, run.n_ctx);
        auto ids = read_tokens(in, *fields, run.n_vocab);
        if (!ids) return at(name, std::move(ids).error());
        sequences[seq] = *std::move(sequence);
        tokens[seq] = *std::move(ids);
    }
    if (in.left() > 0) return fail(Fault::BadInput, "{} bytes follow the last sequence", in.left());
    auto store =
        MINFER_TRY(KvStore::from_parts(run.n_ctx, std::move(sequences),
                                       {.compactions = header.compactions,
                                        .cells_moved = header.cells_moved,
                                        .copies_on_write = header.copies_on_write,
                                        .rows_copied_on_write = header.rows_copied_on_write}));
    if (store.usage().written != header.n_rows)
        return fail(Fault::BadInput, "has {} cells, its sequences read {}", header.n_rows,
                    store.usage().written);
    return SessionSequences{.store = std::move(store), .tokens = std::move(tokens)};
}

std::vector<CellRun> readable_cells(const KvStore& store) {
    std::vector<CellRun> runs;
    for (const auto& [seq, sequence] : store.sequences()) {
        if (sequence.written == 0) continue;
        for (const auto& run : store.runs(seq, sequence.written)) runs.push_back(run);
    }
    std::ranges::sort(runs, {}, &CellRun::cell);
    std::vector<CellRun> joined;
    for (const auto& run : runs) {
        const auto begin = joined.empty() ? run.cell : std::max(run.cell, joined.back().end());
        if (begin < run.end()) append_run(joined, {.cell = begin, .rows = run.end() - begin});
    }
    return joined;
}

}  // namespace minfer
