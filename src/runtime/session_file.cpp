#include "runtime/session_file.h"

#include <algorithm>
#include <utility>

#include "base/xxh3.h"

namespace minfer {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

// Writes one after the other and sums.
class SummedWriter {
  public:
    explicit SummedWriter(AtomicFile& file) : file_(file) {}

    Result<> write(std::span<const std::byte> bytes) {
        if (bytes.empty()) return {};
        sum_.add(bytes);
        return file_.write(bytes);
    }
    uint64_t sum() const { return sum_.sum(); }

  private:
    AtomicFile& file_;
    Xxh3 sum_;
};

// Reads one after the other and sums.
class SummedReader {
  public:
    explicit SummedReader(const Descriptor& file) : file_(file) {}

    Result<> read(std::span<std::byte> to) {
        MINFER_TRY(read_at(file_, position_, to));
        sum_.add(to);
        position_ += to.size();
        return {};
    }
    Result<> skip(uint64_t bytes) {
        buffer_.resize(std::max<uint64_t>(buffer_.size(), std::min<uint64_t>(bytes, kPieceBytes)));
        while (bytes > 0) {
            const auto piece = std::span(buffer_).first(std::min<uint64_t>(bytes, buffer_.size()));
            MINFER_TRY(read(piece));
            bytes -= piece.size();
        }
        return {};
    }
    Result<> read_if(bool wanted, uint64_t bytes, std::vector<std::byte>& to) {
        if (!wanted) return skip(bytes);
        to.resize(bytes);
        return read(to);
    }
    uint64_t sum() const { return sum_.sum(); }

  private:
    const Descriptor& file_;
    uint64_t position_ = 0;
    Xxh3 sum_;
    std::vector<std::byte> buffer_;
};

// Calls `take` for all of these cells in pieces, with the first cell and as many bytes of `buffer`
// as the piece has.
template <class Take>
Result<> for_pieces(std::span<const CellRun> cells, size_t row_bytes,
                    std::vector<std::byte>& buffer, Take take) {
    const auto most = std::max<size_t>(1, kPieceBytes / row_bytes);
    for (auto [cell, rows] : cells)
        while (rows > 0) {
            const auto piece = std::min(rows, most);
            buffer.resize(std::max(buffer.size(), piece * row_bytes));
            MINFER_TRY(take(cell, std::span(buffer).first(piece * row_bytes)));
            cell += piece;
            rows -= piece;
        }
    return {};
}

// Its errors are the file's, or begin with `name`.
Result<> write_all(AtomicFile& file, const std::string& name, KvCache& cache, SessionHeader header,
                   std::span<const std::byte> host) {
    const auto sequences = encode_sequences(cache.store(), cache.tokens());
    header.sequences_bytes = sequences.size();
    header.host_bytes = host.size();
    auto out = SummedWriter(file);
    MINFER_TRY(out.write(bytes_of(header)));
    MINFER_TRY(out.write(sequences));
    MINFER_TRY(out.write(host));
    const auto cells = readable_cells(cache.store());
    const auto region_bytes = header.n_rows * header.row_bytes;
    std::vector<std::byte> buffer;
    for (uint32_t il = 0; il < header.n_layer; ++il) {
        const auto layer = SessionLayer{.layer = il,
                                        .backend = std::to_underlying(cache.backend(il)),
                                        .k_bytes = region_bytes,
                                        .v_bytes = region_bytes};
        MINFER_TRY(out.write(bytes_of(layer)));
        for (const auto part : KvCache::kParts)
            MINFER_TRY(for_pieces(cells, header.row_bytes, buffer,
                                  [&](size_t cell, std::span<std::byte> piece) -> Result<> {
                                      auto done = cache.read(il, part, cell, piece);
                                      if (!done) return at(name, std::move(done).error());
                                      return out.write(piece);
                                  }));
    }
    const auto sum = out.sum();
    MINFER_TRY(out.write(bytes_of(sum)));
    return {};
}

}  // namespace

SessionShape session_shape(const Model& model, const KvCache& cache) {
    return {.fingerprint = model.fingerprint(),
            .n_layer = cache.n_layer(),
            .n_ctx = cache.store().n_ctx(),
            .n_vocab = model.hparams().n_vocab,
            .layout = cache.layout()};
}

Result<> save_session(const std::filesystem::path& path, KvCache& cache, const SessionShape& shape,
                      std::span<const std::byte> host, AtomicFile::Options options) {
    MINFER_ASSERT(cache.n_layer() == shape.n_layer && cache.store().n_ctx() == shape.n_ctx &&
                  cache.layout() == shape.layout);
    const auto header = make_session_header(shape, cache.store());
    if (header.n_seq > kMaxSessionSequences || host.size() > kMaxHostBytes)
        return fail(Fault::BadInput,
                    "{}: {} sequences and {} bytes of the host's, a session holds {} and {}",
                    path.string(), header.n_seq, host.size(), kMaxSessionSequences, kMaxHostBytes);
    auto file = MINFER_TRY(AtomicFile::create(path, std::move(options)));
    MINFER_TRY(write_all(file, path.string(), cache, header, host));
    return file.commit();
}

Result<SavedSession> SavedSession::open(const std::filesystem::path& path,
                                        const SessionShape& run) {
    auto file = MINFER_TRY(open_regular_file(path));
    auto session = verify(std::move(file), run);
    if (!session) return at(path.string(), std::move(session).error());
    return session;
}

Result<SavedSession> SavedSession::verify(RegularFile file, const SessionShape& run) {
    auto session = SavedSession(std::move(file));
    MINFER_TRY(session.verify_all(run));
    return session;
}

// The lengths first, so that a file which was cut says so; then the checksum, so that what is said
// about fields is about what was saved; then everything else.
Result<> SavedSession::verify_all(const SessionShape& run) {
    auto in = SummedReader(file_.descriptor);
    std::vector<std::byte> start(std::min<uint64_t>(file_.size, sizeof header_));
    MINFER_TRY(in.read(start));
    header_ = MINFER_TRY(read_session_header(start));
    const auto bytes = MINFER_TRY(session_bytes(header_));
    if (file_.size < bytes)
        return fail(Fault::BadInput, "is truncated: {} bytes of {}", file_.size, bytes);
    if (file_.size > bytes)
        return fail(Fault::BadInput, "goes on for {} bytes after its end at byte {}",
                    file_.size - bytes, bytes);

    const auto usable = check_session_header(header_, run);
    std::vector<std::byte> sequences;
    MINFER_TRY(in.read_if(usable.has_value(), header_.sequences_bytes, sequences));
    MINFER_TRY(in.read_if(usable.has_value(), header_.host_bytes, host_));
    Result<> layers;
    for (uint32_t il = 0; il < header_.n_layer; ++il) {
        SessionLayer layer;
        MINFER_TRY(in.read(writable_bytes_of(layer)));
        if (layers) layers = check_session_layer(layer, il, header_);
        MINFER_TRY(in.skip(header_.n_rows * header_.row_bytes * 2));
    }
    sum_ = in.sum();
    uint64_t stored = 0;
    MINFER_TRY(read_at(file_.descriptor, bytes - sizeof stored, writable_bytes_of(stored)));
    if (stored != sum_)
        return fail(Fault::BadInput, "is damaged: its checksum is {:016x}, its bytes have {:016x}",
                    stored, sum_);
    MINFER_TRY(usable);
    MINFER_TRY(layers);
    sequences_ = MINFER_TRY(decode_sequences(sequences, header_, run));
    return {};
}

Result<> SavedSession::load_into(KvCache& cache) const {
    MINFER_ASSERT(cache.store().n_ctx() == store().n_ctx() && cache.n_layer() == header_.n_layer &&
                  cache.layout().row_bytes == header_.row_bytes);
    // What it held is overwritten: nobody may read it, whatever happens.
    cache.replace(KvStore(store().n_ctx()), {});
    auto loaded = load_cells(cache);
    if (!loaded)
        return at("the session was not loaded, and the cache is empty now",
                  std::move(loaded).error());
    cache.replace(store(), tokens());
    return {};
}

Result<> SavedSession::load_cells(KvCache& cache) const {
    auto in = SummedReader(file_.descriptor);
    MINFER_TRY(in.skip(sizeof header_ + header_.sequences_bytes + header_.host_bytes));
    const auto cells = readable_cells(store());
    std::vector<std::byte> buffer;
    for (uint32_t il = 0; il < header_.n_layer; ++il) {
        MINFER_TRY(in.skip(sizeof(SessionLayer)));
        for (const auto part : KvCache::kParts)
            MINFER_TRY(for_pieces(cells, header_.row_bytes, buffer,
                                  [&](size_t cell, std::span<std::byte> piece) -> Result<> {
                                      MINFER_TRY(in.read(piece));
                                      return cache.write(il, part, cell, piece);
                                  }));
    }
    if (in.sum() != sum_) return fail(Fault::Io, "the file changed while it was being read");
    return {};
}

}  // namespace minfer
