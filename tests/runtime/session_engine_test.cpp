// Sessions of whole engines on the CPU.
#include <gmock/gmock.h>

#include "backend/cpu/cpu_backend.h"
#include "gguf/writer.h"
#include "support/session_checks.h"
#include "support/small_model.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;

struct SessionsOnTheCpu : testing::TestWithParam<KvFormat> {
    std::unique_ptr<Engine> make() {
        auto engine = Engine::create(model.model, {cpu.get()},
                                     {.n_ctx = 160, .n_ubatch = 16, .kv_format = GetParam()});
        MINFER_ASSERT(engine);
        return *std::move(engine);
    }
    TinyModel model{small_model_bytes()};
    std::unique_ptr<CpuBackend> cpu = make_cpu_backend({.threads = 1});
};

TEST_P(SessionsOnTheCpu, AnotherEngineGoesOnBitForBitWithoutEvaluatingAToken) {
    expect_session_continues([&] { return make(); }, [&] { return make(); }, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, SessionsOnTheCpu, testing::ValuesIn(kKvFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

// The same metadata and shapes, one weight changed a little: cells of one are not those of another.
TEST(Sessions, OfAnotherModelAreRefusedAndLeaveTheCacheAsItIs) {
    const auto bytes = small_model_bytes();
    auto tuned_bytes = bytes;
    {
        const auto file = gguf::File::parse(tuned_bytes);
        ASSERT_TRUE(file);
        const auto& last = file->tensors().back().data;
        tuned_bytes[static_cast<size_t>(&last.front() - tuned_bytes.data())] ^= std::byte{1};
    }
    const TinyModel model(bytes), tuned(tuned_bytes);
    const auto cpu = make_cpu_backend({.threads = 1}), other_cpu = make_cpu_backend({.threads = 1});
    const auto options = EngineOptions{.n_ctx = 64};
    const auto saved = Engine::create(model.model, {cpu.get()}, options);
    const auto other = Engine::create(tuned.model, {other_cpu.get()}, options);
    ASSERT_TRUE(saved && other);
    answer(**saved, kMainSequence, numbered_tokens(5));
    answer(**other, kMainSequence, numbered_tokens(7));

    const TempDir dir;
    const auto path = dir.path() / "session";
    const auto shape = session_shape(model.model, (*saved)->cache());
    ASSERT_TRUE(save_session(path, (*saved)->cache(), shape, {}));
    ASSERT_TRUE(SavedSession::open(path, shape));
    const auto before = (*other)->cache().store();
    const auto refused = SavedSession::open(path, session_shape(tuned.model, (*other)->cache()));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("session: belongs to another model"));
    EXPECT_TRUE((*other)->cache().store() == before);
}

TEST(Sessions, ALoadedSequenceGrowsWithoutAllocatingItsTokensAnew) {
    const TinyModel model(small_model_bytes());
    const auto cpu = make_cpu_backend({.threads = 1});
    const auto engine = Engine::create(model.model, {cpu.get()}, {.n_ctx = 64});
    ASSERT_TRUE(engine);
    auto& cache = (*engine)->cache();
    answer(**engine, kMainSequence, numbered_tokens(5));
    const TempDir dir;
    const auto shape = session_shape(model.model, cache);
    ASSERT_TRUE(save_session(dir.path() / "session", cache, shape, {}));
    const auto session = SavedSession::open(dir.path() / "session", shape);
    ASSERT_TRUE(session && session->load_into(cache));
    EXPECT_GE(cache.tokens().at(kMainSequence).ids.capacity(), 64u);
}

}  // namespace
}  // namespace minfer::test
