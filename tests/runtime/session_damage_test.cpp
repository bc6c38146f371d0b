// Session files that are damaged, cut, mixed up, or not those of this run: every one is refused,
// and the message says what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/session_file.h"
#include "support/session_bytes.h"
#include "support/session_cache.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Where things lie in the file of SessionDamage: 104 bytes of header, then the sequences by id.
constexpr size_t kFirstSequence = 104;

struct SessionDamage : testing::Test {
    SessionCache cache{KvFormat::Q8_0};
    SessionProbe says{cache.shape};
    Bytes valid;

    void SetUp() override {
        cache.populate();
        valid = saved(cache, "host");
        ASSERT_EQ(says(valid), "");
    }
    static Bytes saved(SessionCache& from, std::string_view host) {
        const TempDir dir;
        const auto done =
            save_session(dir.path() / "s", from.cache, from.shape, std::as_bytes(std::span(host)));
        EXPECT_TRUE(done) << done.error().what;
        return bytes_of_file(dir.path() / "s");
    }
    // With one field changed, the checksum right.
    template <class T>
    std::string with(size_t offset, T value) const {
        auto bytes = valid;
        patch(bytes, offset, value);
        resum(bytes);
        return says(bytes);
    }
    // Of a sequence's fields: where those of the n-th begin.
    size_t sequence(size_t n) const {
        auto at = kFirstSequence;
        for (; n > 0; --n)
            at += 28 + 8 * field<uint32_t>(valid, at + 24) + 4 * field<uint32_t>(valid, at + 12);
        return at;
    }
};

TEST_F(SessionDamage, EveryPrefixIsRefused) {
    for (size_t size = 0; size < valid.size(); ++size) {
        const auto what = says(std::span(valid).first(size));
        if (size < 8)
            ASSERT_EQ(what, "is not a session file") << size;
        else
            ASSERT_THAT(what, StartsWith("is truncated: ")) << size;
    }
}

TEST_F(SessionDamage, BytesBehindTheEndAreRefused) {
    auto longer = valid;
    longer.push_back({});
    EXPECT_EQ(says(longer),
              fmt::format("goes on for 1 bytes after its end at byte {}", valid.size()));
    resum(longer);
    EXPECT_THAT(says(longer), StartsWith("goes on for 1 bytes"));
}

TEST_F(SessionDamage, AFlipOfAnyBitIsRefused) {
    auto bytes = valid;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        ASSERT_NE(says(bytes), "") << "bit " << bit % 8 << " of byte " << bit / 8;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

TEST_F(SessionDamage, DamageBehindTheHeaderIsOfTheChecksum) {
    for (const auto at : {sequence(0), sequence(1) + 3, valid.size() / 2, valid.size() - 1}) {
        auto bytes = valid;
        bytes[at] ^= std::byte{4};
        EXPECT_THAT(says(bytes), StartsWith("is damaged: its checksum is ")) << at;
    }
}

TEST_F(SessionDamage, WhatIsNoSessionOfThisVersionSaysWhatItIs) {
    EXPECT_EQ(with(0, 'm'), "is not a session file");
    for (const uint32_t version : {1, 2, 4, 77})
        EXPECT_EQ(with(8, version), fmt::format("is a session file of version {}, expected version "
                                                "3",
                                                version));
    // Of version 2 only what its first bytes say is known.
    auto old = Bytes(40);
    std::ranges::copy(std::span(valid).first(8), old.begin());
    patch(old, 8, 2u);
    EXPECT_EQ(says(old), "is a session file of version 2, expected version 3");
    EXPECT_EQ(says(std::span(old).first(12)), "is a session file of version 2, expected version 3");

    EXPECT_EQ(with(16, 0x01020305u), "byte-order mark is 0x01020305, expected 0x01020304");
    auto big = valid;
    for (size_t at = 8; at < 40; at += 4) std::reverse(&big[at], &big[at] + 4);
    EXPECT_EQ(says(big), "is in big-endian byte order, expected little-endian");
}

TEST_F(SessionDamage, TheFaultOfAnotherVersionIsUnsupported) {
    auto bytes = valid;
    patch(bytes, 8, 2u);
    put(says.path(), bytes);
    EXPECT_EQ(SavedSession::open(says.path(), cache.shape).error().fault, Fault::Unsupported);
    patch(bytes, 8, 3u);
    patch(bytes, 12, 0u);
    put(says.path(), bytes);
    EXPECT_EQ(SavedSession::open(says.path(), cache.shape).error().fault, Fault::BadInput);
    std::filesystem::remove(says.path());
    EXPECT_EQ(SavedSession::open(says.path(), cache.shape).error().fault, Fault::NotFound);
    std::filesystem::create_directory(says.path());
    EXPECT_EQ(SavedSession::open(says.path(), cache.shape).error().fault, Fault::Io);
}

TEST_F(SessionDamage, EachFieldOfTheHeaderIsHeldToThisRun) {
    EXPECT_EQ(with(12, 3u), "flags say that its cells are q8_0 and that they are f16");
    EXPECT_EQ(with(12, 4u), "flags are 0x4, known are 0x1 (q8_0) and 0x2 (f16)");
    EXPECT_EQ(with(12, 5u), "flags are 0x5, known are 0x1 (q8_0) and 0x2 (f16)");
    EXPECT_EQ(with(12, 0u), "KV format is f32, this run's is q8_0");
    EXPECT_EQ(with(24, 25u), "n_ctx is 25, this run's is 24");
    EXPECT_EQ(with(28, 64u), "KV width is 64, this run's is 32");
    EXPECT_EQ(with<uint64_t>(40, 0xfedcba9876543210),
              "belongs to another model: fingerprint fedcba9876543210, this model's is "
              "0123456789abcdef");

    // Those that say how long the file is need one of that length.
    auto layers = valid;
    const auto layer_bytes = 24 + 2 * 36 * field<uint64_t>(valid, 48);
    layers.insert(layers.begin() + static_cast<ptrdiff_t>(valid.size() - 8), layer_bytes, {});
    patch(layers, 20, 3u);
    resum(layers);
    EXPECT_EQ(says(layers), "number of layers is 3, this run's is 2");
    auto rows = valid;
    rows.insert(rows.end(), 2 * 2 * 4 * field<uint64_t>(valid, 48), {});
    patch(rows, 32, 40u);
    resum(rows);
    EXPECT_EQ(says(rows), "bytes of a cell is 40, this run's is 36");
    auto host = valid;
    host.insert(host.end(), kMaxHostBytes, {});
    patch(host, 64, uint64_t{kMaxHostBytes + 4});
    resum(host);
    EXPECT_EQ(says(host), "has 67108868 bytes of the host's, at most 67108864 are allowed");
    auto sequences = valid;
    sequences.insert(sequences.end(), 5000, {});
    patch(sequences, 56, 5000 + field<uint64_t>(valid, 56));
    resum(sequences);
    EXPECT_THAT(says(sequences), HasSubstr("bytes of sequences, at most 592 are allowed"));
    EXPECT_EQ(with(36, 5000u), "has 5000 sequences, at most 4096 are allowed");
}

TEST_F(SessionDamage, LengthsThatNoFileCanHaveAreRefused) {
    for (const size_t at : {48, 56, 64})
        for (const auto value : {UINT64_MAX, UINT64_MAX / 72, uint64_t{1} << 63}) {
            const auto what = with(at, value);
            EXPECT_TRUE(what.starts_with("describes more bytes than a file can have") ||
                        what.starts_with("is truncated"))
                << what;
        }
}

TEST_F(SessionDamage, EachFieldOfASequenceIsChecked) {
    // By id: 2, 4, 5 and 1000, of which 2 and 1000 share.
    const auto two = sequence(0), four = sequence(1), five = sequence(2), last = sequence(3);
    ASSERT_EQ(field<uint32_t>(valid, two), 2u);
    ASSERT_EQ(field<uint32_t>(valid, last), 1000u);
    EXPECT_EQ(with(four, 2u), "sequence 2 follows sequence 2");
    EXPECT_EQ(with(four, 1u), "sequence 1 follows sequence 2");
    EXPECT_EQ(with(two + 4, 5u), "sequence 2: 6 tokens for 5 positions");
    EXPECT_EQ(with(two + 8, 7u), "sequence 2: 7 exact positions of 6");
    EXPECT_EQ(with(two + 12, 5u), "sequence 2: 5 tokens for 6 positions");
    EXPECT_EQ(with(two + 4, 25u), "sequence 2: 25 positions in room for 6, n_ctx is 24");
    EXPECT_EQ(with(two + 20, 25u), "sequence 2: 6 positions in room for 25, n_ctx is 24");
    EXPECT_EQ(with(two + 16, 23u), "sequence 2: a run of cells leaves the arena");
    EXPECT_EQ(with(two + 24, 4u), "sequence 2: 4 shared runs of cells, at most 3 are allowed");
    EXPECT_EQ(with(five + 28, 100u), "sequence 5: token 0 has id 100, allowed are ids below 100");
    EXPECT_EQ(with(four + 16, field<uint32_t>(valid, two + 16)),
              "sequence 2: its own cells are another's, too");
    EXPECT_EQ(with(two + 28, 24u), "sequence 2: a run of cells leaves the arena");
    auto fewer = valid;
    patch(fewer, 36, 3u);
    resum(fewer);
    EXPECT_THAT(says(fewer), HasSubstr("bytes follow the last sequence"));
    EXPECT_THAT(with(36, 5u), HasSubstr("sequences: needs 28 bytes"));
}

TEST_F(SessionDamage, EachFieldOfALayerIsChecked) {
    const auto rows = field<uint64_t>(valid, 48), bytes = rows * 36;
    const auto first = 104 + field<uint64_t>(valid, 56) + field<uint64_t>(valid, 64);
    const auto second = first + 24 + 2 * bytes;
    EXPECT_EQ(with(first, 1u), "layer 1 is where layer 0 should be");
    EXPECT_EQ(with(second, 0u), "layer 0 is where layer 1 should be");
    EXPECT_EQ(with(second + 4, 3u), "layer 1 lay on backend 3, known are 0 to 2");
    EXPECT_EQ(with(first + 4, 2u), "");  // wherever it lay
    EXPECT_EQ(with(first + 8, bytes + 36),
              fmt::format("layer 0 has {} and {} bytes of cells, {} cells have {}", bytes + 36,
                          bytes, rows, bytes));
    EXPECT_EQ(
        with(second + 16, uint64_t{}),
        fmt::format("layer 1 has {} and 0 bytes of cells, {} cells have {}", bytes, rows, bytes));
}

// Cells more than the sequences read, with the bytes they take.
TEST_F(SessionDamage, CellsThatNoSequenceReadsAreRefused) {
    const auto rows = field<uint64_t>(valid, 48);
    SessionCache fuller(KvFormat::Q8_0);
    fuller.populate();
    ASSERT_TRUE(fuller.cache.reserve(SeqId{2000}, 1));
    const auto room = saved(fuller, "host");
    fuller.append(SeqId{2000}, 1, 1);
    auto read = saved(fuller, "host");
    EXPECT_EQ(says(read), "");
    // The last sequence has its room, and no token.
    const auto before = 104 + field<uint64_t>(room, 56);
    Bytes mixed(read.begin(), read.begin() + 104);
    mixed.insert(mixed.end(), room.begin() + 104, room.begin() + static_cast<ptrdiff_t>(before));
    mixed.insert(mixed.end(), read.begin() + static_cast<ptrdiff_t>(before + 4), read.end());
    patch(mixed, 56, field<uint64_t>(room, 56));
    resum(mixed);
    EXPECT_EQ(says(mixed), fmt::format("has {} cells, its sequences read {}", rows + 1, rows));
}

// A file that is one of these with bits flipped, cut, or one's beginning with another's end.
class Damage {
  public:
    explicit Damage(std::vector<Bytes> files) : files_(std::move(files)) {}

    Bytes next() {
        for (;;) {
            auto bytes = changed();
            if (std::ranges::find(files_, bytes) == files_.end()) return bytes;
        }
    }

  private:
    size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
    const Bytes& any() { return files_[below(files_.size())]; }

    Bytes changed() {
        auto bytes = any();
        switch (below(4)) {
            case 0:  // a few bits, more often of the head
                for (auto n = 1 + below(8); n > 0; --n) {
                    const auto range =
                        below(2) ? bytes.size() : std::min<size_t>(300, bytes.size());
                    bytes[below(range)] ^= std::byte{1} << below(8);
                }
                break;
            case 1:
                bytes.resize(below(bytes.size()));
                break;
            case 2: {  // also at the same place in both
                const auto& other = any();
                const auto end = below(bytes.size());
                const auto begin = below(2) ? std::min(end, other.size()) : below(other.size());
                bytes.resize(end);
                bytes.insert(bytes.end(), other.begin() + static_cast<ptrdiff_t>(begin),
                             other.end());
                break;
            }
            default: {  // a stretch of one in the other
                const auto& other = any();
                const auto at = below(std::min(bytes.size(), other.size()));
                const auto most = std::min(bytes.size(), other.size()) - at;
                std::copy_n(other.begin() + static_cast<ptrdiff_t>(at), 1 + below(most),
                            bytes.begin() + static_cast<ptrdiff_t>(at));
                break;
            }
        }
        return bytes;
    }

    std::vector<Bytes> files_;
    std::mt19937_64 random_{20261201};
};

struct ManyDamaged : SessionDamage {
    // Sessions of one shape: as populated, one sequence only, and full.
    std::vector<Bytes> files() {
        SessionCache one(KvFormat::Q8_0), full(KvFormat::Q8_0);
        EXPECT_TRUE(one.cache.reserve(SeqId{0}, 24));
        one.append(SeqId{0}, 7, 5);
        EXPECT_TRUE(full.cache.reserve(SeqId{3}, 24));
        full.append(SeqId{3}, 24, 9);
        return {valid, saved(one, ""), saved(full, "another host's")};
    }
};

TEST_F(ManyDamaged, TenThousandAreRefusedAndChangeNothing) {
    SessionCache run(KvFormat::Q8_0);
    run.populate();
    const auto store = run.cache.store();
    const auto cells = run.cells();
    auto damage = Damage(files());
    for (size_t i = 0; i < 10'000; ++i) {
        const auto bytes = damage.next();
        put(says.path(), bytes);
        const auto session = SavedSession::open(says.path(), run.shape);
        ASSERT_FALSE(session) << "file " << i;
        ASSERT_LT(session.error().what.size(), 600u);
    }
    EXPECT_TRUE(run.cache.store() == store);
    EXPECT_EQ(run.cells(), cells);
}

// Somebody who means to deceive makes the checksum right as well.
TEST_F(ManyDamaged, TenThousandWithARightChecksumAreRefusedOrSound) {
    auto damage = Damage(files());
    size_t accepted = 0;
    for (size_t i = 0; i < 10'000; ++i) {
        auto bytes = damage.next();
        if (bytes.size() < 8) continue;
        resum(bytes);
        put(says.path(), bytes);
        const auto session = SavedSession::open(says.path(), cache.shape);
        if (!session) continue;
        ++accepted;
        SessionCache loaded(KvFormat::Q8_0);
        const auto done = session->load_into(loaded.cache);
        ASSERT_TRUE(done) << done.error().what;
        ASSERT_TRUE(loaded.cache.store().check());
        for (const auto& [seq, sequence] : loaded.cache.store().sequences())
            ASSERT_EQ(loaded.cache.tokens().at(seq).ids.size(), sequence.written);
    }
    EXPECT_GT(accepted, 300u);
    EXPECT_LT(accepted, 9000u);
}

}  // namespace
}  // namespace minfer::test
