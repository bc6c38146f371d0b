#include "gguf/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>

#include "gguf/split.h"
#include "gguf/writer.h"
#include "support/temp_dir.h"

namespace minfer::gguf {
namespace {

// Two tensors, one longer than both samples.
struct Content {
    std::string name = "n", other = "b";
    uint32_t number = 7;
    std::vector<std::string> texts = {"ab", "c"};
    DType type = DType::F32;
    std::vector<uint64_t> shape = {64, 100};
    std::vector<std::byte> data = std::vector<std::byte>(64 * 100 * 4, std::byte{1});
    std::vector<std::byte> small = std::vector<std::byte>(64, std::byte{2});

    void add_keys(Writer& writer) const {
        writer.set("name", name);
        writer.set("number", number);
        writer.set_array("texts", texts);
    }
    void add_long(Writer& writer) const { EXPECT_TRUE(writer.add_tensor("a", type, shape, data)); }
    void add_small(Writer& writer) const {
        EXPECT_TRUE(writer.add_tensor(other, DType::F32, {16}, small));
    }
};

uint64_t fingerprint_of(const Content& content) {
    Writer writer;
    content.add_keys(writer);
    content.add_long(writer);
    content.add_small(writer);
    const auto bytes = *writer.bytes();
    const auto file = File::parse(bytes);
    EXPECT_TRUE(file) << file.error().what;
    return fingerprint(*file);
}

uint64_t changed(const std::function<void(Content&)>& change) {
    Content content;
    change(content);
    return fingerprint_of(content);
}

TEST(Fingerprint, DiffersWithEverythingItIsMadeOf) {
    const auto before = fingerprint_of({});
    EXPECT_EQ(before, fingerprint_of({}));
    const std::function<void(Content&)> changes[] = {
        [](Content& c) { c.name = "m"; },
        [](Content& c) { c.number = 8; },
        [](Content& c) { c.texts = {"a", "bc"}; },
        [](Content& c) { c.texts = {"ab", "c", ""}; },
        [](Content& c) { c.other = "c"; },
        [](Content& c) { c.type = DType::I32; },
        [](Content& c) { c.shape = {32, 200}; },
        [](Content& c) { c.shape = {64, 10, 10}; },
        [](Content& c) { c.data[0] = std::byte{}; },
        [](Content& c) { c.data[kSampleBytes - 1] = std::byte{}; },
        [](Content& c) { c.data[c.data.size() - kSampleBytes] = std::byte{}; },
        [](Content& c) { c.data.back() = std::byte{}; },
        [](Content& c) { c.small[33] = std::byte{}; },
    };
    for (const auto& change : changes)
        EXPECT_NE(changed(change), before) << "change " << &change - changes;
}

TEST(Fingerprint, DoesNotReadWhatLiesBetweenTheSamples) {
    EXPECT_EQ(changed([](Content& c) { c.data[kSampleBytes] = std::byte{}; }), fingerprint_of({}));
}

TEST(Fingerprint, IsThatOfTheWholeFileForAModelInParts) {
    const TempDir dir;
    const Content content;
    const auto write = [&](uint16_t number, const Writer& writer) {
        const auto written = writer.write(dir.path() / part_file_name("m", number + 1u, 2));
        ASSERT_TRUE(written) << written.error().what;
    };
    const auto part = [&](uint16_t number, auto&& add) {
        Writer writer;
        if (number == 0) content.add_keys(writer);
        writer.set("split.no", number);
        writer.set("split.count", uint16_t{2});
        writer.set("split.tensors.count", int32_t{2});
        add(writer);
        write(number, writer);
    };
    part(0, [&](Writer& writer) { content.add_small(writer); });
    part(1, [&](Writer& writer) { content.add_long(writer); });
    const auto file = File::open(dir.path() / part_file_name("m", 1, 2));
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(fingerprint(*file), fingerprint_of(content));
}

}  // namespace
}  // namespace minfer::gguf
