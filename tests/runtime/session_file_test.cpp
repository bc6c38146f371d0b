// What a session file keeps, what it looks like, and what a save or a load that fails leaves
// behind.
#include "runtime/session_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/interrupted_save.h"
#include "support/kv_cells.h"
#include "support/session_bytes.h"
#include "support/session_cache.h"
#include "support/temp_dir.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;

const auto kHost = as_bytes(std::span(std::string_view("what the host said")));

Result<> save(const std::filesystem::path& path, SessionCache& from,
              std::span<const std::byte> host = kHost, BeforeStep hook = {}) {
    return save_session(path, from.cache, from.shape, host, {.before_step = std::move(hook)});
}

void expect_same(SessionCache& got, SessionCache& want) {
    EXPECT_TRUE(got.cache.store() == want.cache.store());
    EXPECT_EQ(got.cache.tokens(), want.cache.tokens());
    EXPECT_EQ(got.cells(), want.cells());
}

struct SessionOf : testing::TestWithParam<KvFormat> {
    TempDir dir;
    std::filesystem::path path = dir.path() / "session";
};

TEST_P(SessionOf, ComesBackBitForBitOverWhateverWasThere) {
    SessionCache saved(GetParam()), loaded(GetParam());
    saved.populate();
    ASSERT_TRUE(save(path, saved));
    EXPECT_EQ(files_in(dir.path()), 1u);

    loaded.write(0, 24, 99);
    ASSERT_TRUE(loaded.cache.reserve(SeqId{77}, 20));
    loaded.append(SeqId{77}, 20, 3);
    const auto session = SavedSession::open(path, loaded.shape);
    ASSERT_TRUE(session) << session.error().what;
    EXPECT_TRUE(session->store() == saved.cache.store());
    EXPECT_EQ(session->tokens(), saved.cache.tokens());
    EXPECT_TRUE(std::ranges::equal(session->host(), kHost));
    ASSERT_TRUE(session->load_into(loaded.cache));
    expect_same(loaded, saved);

    ASSERT_TRUE(save(dir.path() / "again", loaded));
    EXPECT_EQ(bytes_of_file(dir.path() / "again"), bytes_of_file(path));
}

TEST_P(SessionOf, SaysInItsFlagsWhatItsCellsAre) {
    SessionCache saved(GetParam());
    saved.populate();
    ASSERT_TRUE(save(path, saved));
    const auto flags = field<uint32_t>(bytes_of_file(path), 12);
    switch (GetParam()) {
        case KvFormat::F32:
            EXPECT_EQ(flags, 0u);
            break;
        case KvFormat::F16:
            EXPECT_EQ(flags, kFlagF16);
            break;
        case KvFormat::Q8_0:
            EXPECT_EQ(flags, kFlagPacked);
            break;
    }
}

TEST_P(SessionOf, IsRefusedByACacheOfAnotherFormat) {
    SessionCache saved(GetParam());
    saved.populate();
    ASSERT_TRUE(save(path, saved));
    for (const auto other : kKvFormats) {
        const auto session = SavedSession::open(path, SessionCache(other).shape);
        EXPECT_EQ(session.has_value(), other == GetParam());
        if (other == GetParam()) continue;
        EXPECT_THAT(session.error().what, HasSubstr(fmt::format("KV format is {}, this run's is {}",
                                                                name(GetParam()), name(other))));
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, SessionOf, testing::ValuesIn(kKvFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

struct SessionFile : testing::Test {
    TempDir dir;
    std::filesystem::path path = dir.path() / "session";
};

// Byte for byte: one layer of cells of two f32, one sequence of three positions in cells 1 to 3.
TEST_F(SessionFile, HasTheDocumentedLayout) {
    SessionCache tiny(KvFormat::F32, {.n_ctx = 8, .n_layer = 1, .width = 2}, BackendId::Metal);
    ASSERT_TRUE(tiny.cache.reserve(SeqId{1}, 1));
    ASSERT_TRUE(tiny.cache.reserve(SeqId{7}, 5));
    tiny.cache.release(SeqId{1});
    tiny.append(SeqId{7}, 3, 10);
    ASSERT_TRUE(save(path, tiny, kHost.first(3)));
    const auto bytes = bytes_of_file(path);

    Bytes want;
    const auto add = [&](auto value) {
        const auto raw = bytes_of(value);
        want.insert(want.end(), raw.begin(), raw.end());
    };
    const auto words = [&](std::initializer_list<uint32_t> values) {
        for (const auto value : values) add(value);
    };
    const auto longs = [&](std::initializer_list<uint64_t> values) {
        for (const auto value : values) add(value);
    };
    for (const char letter : std::string_view("MINFERKV")) add(letter);
    // version, flags, mark; layers, n_ctx, width, bytes of a cell, sequences
    words({3u, 0u, 0x01020304u, 1u, 8u, 2u, 8u, 1u});
    // fingerprint, cells, bytes of sequences and host, counters
    longs({0x0123456789abcdef, 3, 28 + 12, 3, 0, 0, 0, 0});
    // id, written, exact, tokens, own cell, own rows, shared runs; ids
    words({7u, 3u, 3u, 3u, 1u, 5u, 0u});
    words({10u, 11u, 12u});
    for (const auto byte : kHost.first(3)) add(byte);
    words({0u, 1u});  // layer, backend
    longs({24, 24});
    for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values}) {
        Bytes rows(24);
        ASSERT_TRUE(tiny.cache.read(0, part, 1, rows));
        want.insert(want.end(), rows.begin(), rows.end());
    }
    add(uint64_t{});
    resum(want);
    EXPECT_EQ(bytes, want);
}

TEST_F(SessionFile, HoldsNothingOfCellsThatNobodyReads) {
    SessionCache one, other;
    one.write(0, 24, 1);
    other.write(0, 24, 2);
    one.populate();
    other.populate();
    ASSERT_TRUE(save(dir.path() / "one", one));
    ASSERT_TRUE(save(dir.path() / "other", other));
    EXPECT_EQ(bytes_of_file(dir.path() / "one"), bytes_of_file(dir.path() / "other"));
}

TEST_F(SessionFile, OfAnEmptyCacheEmptiesTheOther) {
    SessionCache empty, full;
    full.populate();
    ASSERT_TRUE(save(path, empty, {}));
    const auto session = SavedSession::open(path, full.shape);
    ASSERT_TRUE(session) << session.error().what;
    EXPECT_TRUE(session->host().empty());
    ASSERT_TRUE(session->load_into(full.cache));
    expect_same(full, empty);
}

// Regions that take several pieces, and a cell that is larger than one.
TEST_F(SessionFile, ComesBackWhenItIsLongerThanItsBuffer) {
    for (const auto& size : {SessionCache::Size{.n_ctx = 700, .n_layer = 2, .width = 500},
                             SessionCache::Size{.n_ctx = 3, .n_layer = 1, .width = 300'000}}) {
        SessionCache saved(KvFormat::F32, size), loaded(KvFormat::F32, size);
        saved.write(0, size.n_ctx, 5);
        ASSERT_TRUE(saved.cache.reserve(SeqId{0}, size.n_ctx));
        saved.cache.append(SeqId{0}, std::vector<TokenId>(size.n_ctx));
        ASSERT_TRUE(save(path, saved));
        const auto session = SavedSession::open(path, loaded.shape);
        ASSERT_TRUE(session) << session.error().what;
        ASSERT_TRUE(session->load_into(loaded.cache));
        EXPECT_EQ(loaded.cells(), saved.cells());
    }
}

TEST_F(SessionFile, ASavePastTheLimitsIsRefusedAndLeavesTheOldFile) {
    SessionCache cache;
    cache.populate();
    ASSERT_TRUE(save(path, cache));
    const auto before = bytes_of_file(path);
    const std::vector<std::byte> much(kMaxHostBytes + 1);
    const auto refused = save(path, cache, much);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::BadInput);
    EXPECT_THAT(refused.error().what, HasSubstr("67108865 bytes of the host's"));
    EXPECT_EQ(bytes_of_file(path), before);

    SessionCache crowd(KvFormat::F32, {.n_ctx = 5000, .n_layer = 1, .width = 2});
    for (uint32_t seq = 0; seq <= kMaxSessionSequences; ++seq) {
        if (seq == kMaxSessionSequences) ASSERT_TRUE(save(path, crowd));
        ASSERT_TRUE(crowd.cache.reserve(SeqId{seq}, 1));
    }
    EXPECT_THAT(save(path, crowd).error().what, HasSubstr("4097 sequences"));
    EXPECT_TRUE(SavedSession::open(path, crowd.shape));
}

// The new session has a sequence that the old one lacks, and no other size.
struct InterruptedSession : SessionFile {
    SessionCache before, after;

    void SetUp() override {
        before.populate();
        after.populate();
        ASSERT_TRUE(after.cache.truncate(SeqId{5}, 0));
        after.append(SeqId{5}, 1, 60);
        ASSERT_TRUE(save(path, before));
    }
    // Which session the file is, whole.
    const SessionCache* found() const {
        const auto session = SavedSession::open(path, before.shape);
        EXPECT_TRUE(session) << session.error().what;
        if (!session) return nullptr;
        for (const auto* const one : {&before, &after})
            if (session->tokens() == one->cache.tokens()) return one;
        return nullptr;
    }
};

TEST_F(InterruptedSession, AFailureOfAnyStepLeavesOneWholeSession) {
    const auto steps = fail_at_each_step(
        [&](BeforeStep hook) { return save(path, after, kHost, std::move(hook)); },
        [&](bool renamed) {
            EXPECT_EQ(found(), renamed ? &after : &before);
            EXPECT_EQ(files_in(dir.path()), 1u);
        });
    EXPECT_GT(steps, 12u);  // two layers of several pieces among them
    EXPECT_EQ(found(), &after);
}

TEST_F(InterruptedSession, AProcessKilledBeforeAnyStepLeavesOneWholeSession) {
    size_t old = 0;
    const auto steps = kill_at_each_step(
        [&](BeforeStep hook) { return save(path, after, kHost, std::move(hook)); },
        [&] {
            const auto* const now = found();
            EXPECT_NE(now, nullptr);
            old += now == &before;
            ASSERT_TRUE(save(path, before));  // beside whatever was left
            EXPECT_EQ(found(), &before);
        });
    EXPECT_GT(steps, 12u);
    EXPECT_EQ(old, steps - 1);  // all but the one killed after the renaming
    EXPECT_EQ(found(), &after);
}

TEST_F(InterruptedSession, ADeviceThatCannotBeReadLeavesTheOldFile) {
    class Unreadable : public FakeBackend {
        using FakeBackend::FakeBackend;
        Result<> read(BufRef, std::span<std::byte>) override {
            return fail(Fault::Device, "nothing comes back");
        }
    };
    Unreadable device(BackendId::Cpu);
    const auto region = BufRef{.id = *device.alloc_fresh(1 << 16), .bytes = 1 << 16};
    KvCache cache(24, before.cache.layout(), {},
                  {{&device, {region, region}}, {&device, {region, region}}});
    ASSERT_TRUE(cache.reserve(SeqId{0}, 2));
    cache.append(SeqId{0}, std::vector<TokenId>(2));
    const auto failed = save_session(path, cache, before.shape, {});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::Device);
    EXPECT_EQ(failed.error().what, path.string() + ": nothing comes back");
    EXPECT_EQ(found(), &before);
    EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST_F(SessionFile, ALoadThatFailsOnTheDeviceLeavesAnEmptyCacheAndCanBeTriedAgain) {
    SessionCache saved;
    saved.populate();
    ASSERT_TRUE(save(path, saved));
    const auto session = SavedSession::open(path, saved.shape);
    ASSERT_TRUE(session);
    size_t failures = 0;
    for (size_t n = 0;; ++n) {
        SessionCache loaded;
        loaded.populate();
        loaded.backend.writes_left = n;
        const auto done = session->load_into(loaded.cache);
        if (done) {
            expect_same(loaded, saved);
            break;
        }
        ++failures;
        EXPECT_EQ(done.error().fault, Fault::Device);
        EXPECT_EQ(done.error().what,
                  "the session was not loaded, and the cache is empty now: the device is gone");
        EXPECT_TRUE(loaded.cache.store() == KvStore(24));
        EXPECT_TRUE(loaded.cache.tokens().empty());
        loaded.backend.writes_left = SIZE_MAX;
        ASSERT_TRUE(session->load_into(loaded.cache));
        expect_same(loaded, saved);
    }
    EXPECT_GE(failures, 8u);
}

TEST_F(SessionFile, AFileThatChangesAfterItWasVerifiedIsNotLoaded) {
    SessionCache saved;
    saved.populate();
    ASSERT_TRUE(save(path, saved));
    const auto bytes = bytes_of_file(path);
    const auto session = SavedSession::open(path, saved.shape);
    ASSERT_TRUE(session);
    const auto refusal = [&] {
        SessionCache loaded;
        loaded.populate();
        const auto done = session->load_into(loaded.cache);
        EXPECT_FALSE(done);
        EXPECT_TRUE(loaded.cache.store() == KvStore(24));
        return done ? "" : done.error().what;
    };
    for (const size_t at : {size_t{30}, size_t{110}, bytes.size() / 2, bytes.size() - 9}) {
        auto other = bytes;
        other[at] ^= std::byte{1};
        put(path, other);  // the same file, not another under its name
        EXPECT_THAT(refusal(), HasSubstr("the file changed while it was being read")) << at;
    }
    put(path, std::span(bytes).first(bytes.size() - 100));
    EXPECT_THAT(refusal(), HasSubstr("has become shorter"));

    put(path, bytes);
    SessionCache other_name;
    ASSERT_TRUE(save(path, other_name));  // another file, and the one that is open stays
    SessionCache loaded;
    ASSERT_TRUE(session->load_into(loaded.cache));
    expect_same(loaded, saved);
}

}  // namespace
}  // namespace minfer::test
