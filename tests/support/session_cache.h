#pragma once
// A KV cache without a model: sequences of every kind over cells of random bytes, for tests of what
// a session file keeps.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "runtime/session_file.h"
#include "support/fake_backend.h"

namespace minfer::test {

// Fails once so many writes are done.
class ForgetfulBackend : public FakeBackend {
  public:
    using FakeBackend::FakeBackend;
    size_t writes_left = SIZE_MAX;
    Result<> write(BufRef to, std::span<const std::byte> from) override {
        if (writes_left == 0) return fail(Fault::Device, "the device is gone");
        --writes_left;
        return FakeBackend::write(to, from);
    }
};

struct SessionCache {
    static constexpr size_t kVocab = 100;
    struct Size {
        size_t n_ctx = 24, n_layer = 2, width = 32;
    };

    ForgetfulBackend backend;
    KvCache cache;
    SessionShape shape;

    explicit SessionCache(KvFormat format = KvFormat::F32) : SessionCache(format, Size{}) {}
    SessionCache(KvFormat format, const Size& size, BackendId id = BackendId::Cpu)
        : backend(id),
          cache(size.n_ctx, kv_layout(format, size.width), {.n_head = 1, .head_dim = size.width},
                layers(format, size)),
          shape{.fingerprint = 0x0123456789abcdef,
                .n_layer = size.n_layer,
                .n_ctx = size.n_ctx,
                .n_vocab = kVocab,
                .layout = cache.layout()} {}

    // Random bytes in the same cells of every layer.
    void write(size_t first_cell, size_t rows, uint32_t seed) {
        auto random = std::mt19937(seed);
        std::vector<std::byte> bytes(rows * cache.layout().row_bytes);
        for (size_t layer = 0; layer < cache.n_layer(); ++layer)
            for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values}) {
                for (auto& byte : bytes) byte = static_cast<std::byte>(random());
                EXPECT_TRUE(cache.write(layer, part, first_cell, bytes));
            }
    }
    void append(SeqId seq, size_t n, uint32_t first_token) {
        const auto before = cache.store().find(seq)->written;
        std::vector<TokenId> tokens;
        for (size_t i = 0; i < n; ++i) {
            tokens.push_back(static_cast<TokenId>((first_token + i) % kVocab));
            write(cache.store().cell(seq, before + i), 1, first_token + static_cast<uint32_t>(i));
        }
        cache.append(seq, tokens);
    }

    // A sequence alone, two that share what a third one left behind, one that has room only and one
    // with a gap before it; counters that are not 0, positions that are no longer exact.
    void populate() {
        const auto reserve = [&](uint32_t seq, size_t room) {
            EXPECT_TRUE(cache.reserve(SeqId{seq}, room));
        };
        reserve(0, 5);
        append(SeqId{0}, 5, 1);
        reserve(9, 4);
        append(SeqId{9}, 3, 20);
        reserve(2, 3);
        EXPECT_TRUE(cache.share_prefix(SeqId{0}, SeqId{2}, 4));
        append(SeqId{2}, 2, 30);
        reserve(1000, 3);
        EXPECT_TRUE(cache.share_prefix(SeqId{0}, SeqId{1000}, 3));
        EXPECT_TRUE(cache.make_own(SeqId{1000}, 1));
        cache.release(SeqId{0});
        reserve(3, 2);
        reserve(4, 4);
        append(SeqId{4}, 4, 40);
        EXPECT_TRUE(cache.remove(SeqId{4}, 1, 1));
        cache.release(SeqId{9});
        EXPECT_TRUE(cache.compact());
        reserve(5, 1);
        append(SeqId{5}, 1, 50);
        cache.release(SeqId{3});
        EXPECT_TRUE(cache.store().check());
        const auto& counters = cache.store().counters();
        EXPECT_TRUE(counters.compactions > 0 && counters.cells_moved > 0 &&
                    counters.copies_on_write > 0 && counters.rows_copied_on_write > 0);
    }

    // Canonical keys and values of every position of a sequence, layer after layer.
    std::map<SeqId, std::vector<std::byte>> cells() {
        std::map<SeqId, std::vector<std::byte>> all;
        for (const auto& [seq, sequence] : cache.store().sequences())
            for (size_t layer = 0; layer < cache.n_layer(); ++layer)
                for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values})
                    for (size_t i = 0; i < sequence.written; ++i) {
                        std::vector<std::byte> row(cache.layout().row_bytes);
                        EXPECT_TRUE(cache.read(layer, part, cache.store().cell(seq, i), row));
                        all[seq].insert(all[seq].end(), row.begin(), row.end());
                    }
        return all;
    }

  private:
    std::vector<KvCache::Layer> layers(KvFormat format, const Size& size) {
        backend.kv_formats = {format};
        const auto bytes = kv_layout(format, size.width).row_bytes * size.n_ctx;
        const auto region = [&] {
            const auto buffer = backend.alloc_fresh(bytes);
            MINFER_ASSERT(buffer);
            return BufRef{.backend = backend.id(), .id = *buffer, .bytes = bytes};
        };
        std::vector<KvCache::Layer> layers;
        for (size_t i = 0; i < size.n_layer; ++i)
            layers.push_back({.backend = &backend, .regions = {.k = region(), .v = region()}});
        return layers;
    }
};

}  // namespace minfer::test
