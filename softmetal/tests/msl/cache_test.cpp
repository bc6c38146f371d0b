// The cache of compiled units: found again, never trusted when damaged, bounded.
#include "softmetal/msl/cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "softmetal/msl/process.h"

namespace softmetal::msl {
namespace {

namespace fs = std::filesystem;

CompiledUnit unit_of(std::string plain) {
    return {.plain = std::move(plain), .checked = "checked", .warnings = {}, .includes = {}};
}

class CacheTest : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = TemporaryFolder::create();
        ASSERT_TRUE(folder) << folder.error();
        folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    }
    fs::path folder() const { return folder_->path() / "softmetal"; }
    size_t n_files() const {
        size_t n = 0;
        for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder())) ++n;
        return n;
    }

  private:
    std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(CacheTest, FindsWhatWasStored) {
    const Cache cache(folder());
    EXPECT_FALSE(cache.find("key"));
    cache.store("key", unit_of("object"));
    const auto found = cache.find("key");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->plain, "object");
    EXPECT_EQ(found->checked, "checked");
    EXPECT_FALSE(cache.find("other"));
}

TEST_F(CacheTest, IgnoresAndReplacesDamagedEntries) {
    const Cache cache(folder());
    cache.store("key", unit_of("object"));
    ASSERT_TRUE(write_file(folder() / "key.smlib", "half a file"));
    EXPECT_FALSE(cache.find("key"));
    cache.store("key", unit_of("again"));
    ASSERT_TRUE(cache.find("key"));
    EXPECT_EQ(cache.find("key")->plain, "again");
}

TEST_F(CacheTest, DropsWhatWasUsedLongestAgo) {
    const Cache cache(folder(), 3000);
    cache.store("a", unit_of(std::string(1000, 'a')));
    cache.store("b", unit_of(std::string(1000, 'b')));
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
    fs::last_write_time(folder() / "a.smlib", long_ago);
    fs::last_write_time(folder() / "b.smlib", long_ago + std::chrono::hours(1));
    ASSERT_TRUE(cache.find("a"));  // now b is the oldest
    cache.store("c", unit_of(std::string(1000, 'c')));
    EXPECT_TRUE(cache.find("a"));
    EXPECT_FALSE(cache.find("b"));
    EXPECT_TRUE(cache.find("c"));
}

TEST_F(CacheTest, LeavesNothingHalfWritten) {
    const Cache cache(folder());
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i)
        writers.emplace_back([&] {
            for (int k = 0; k < 20; ++k) cache.store("key", unit_of(std::string(5000, 'x')));
        });
    for (int k = 0; k < 100; ++k)
        if (const auto found = cache.find("key")) EXPECT_EQ(found->plain.size(), 5000u);
    for (auto& writer : writers) writer.join();
    EXPECT_TRUE(cache.find("key"));
    EXPECT_EQ(n_files(), 1u);
}

TEST_F(CacheTest, WithoutAFolderIsNoReasonToFail) {
    const Cache cache("/proc/nowhere");
    cache.store("key", unit_of("object"));
    EXPECT_FALSE(cache.find("key"));
}

// The environment is restored whatever happens.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() {
        if (old_)
            setenv(name_, old_->c_str(), 1);
        else
            unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> old_;
};

constexpr const char* kSource = "kernel void f(device float* x [[buffer(0)]]) { x[0] = 3; }\n";

TEST_F(CacheTest, ServesTheSecondCompilation) {
    const Variable home("XDG_CACHE_HOME", folder().parent_path().string());
    const auto first = compile(kSource, "program_source", "", {.checked = false});
    ASSERT_TRUE(first) << first.error();
    ASSERT_EQ(n_files(), 1u);
    // A mark in the entry shows where the second one came from.
    const Cache cache(folder());
    const auto key = fs::directory_iterator(folder())->path().stem().string();
    cache.store(key, unit_of("from the cache"));
    EXPECT_EQ(compile(kSource, "program_source", "", {.checked = false})->plain, "from the cache");
    EXPECT_NE(compile(kSource, "program_source", "", {.fast_math = true, .checked = false})->plain,
              "from the cache");
    EXPECT_NE(compile(std::string(kSource) + "kernel void g() {}", "program_source", "",
                      {.checked = false})
                  ->plain,
              "from the cache");
    EXPECT_NE(compile(kSource, "program_source", "", {.checked = false, .cache = false})->plain,
              "from the cache");
    const Variable off("SOFTMETAL_CACHE", "off");
    EXPECT_NE(compile(kSource, "program_source", "", {.checked = false})->plain, "from the cache");
}

}  // namespace
}  // namespace softmetal::msl
