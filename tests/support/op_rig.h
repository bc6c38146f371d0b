#pragma once
// Runs one operation on a backend through its interface: operands in, output or error out.
//
// Padded placement makes what a careless kernel gets wrong visible: every operand lies at an offset
// in a buffer that is longer than the operand, NaN around it, and guard words surround each output.
// Exact placement gives every operand a buffer of its own that ends where the operand ends, so that
// a device which checks bounds reports an overrun into a neighbour.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"

namespace minfer::test {

enum class Placement : uint8_t { Padded, Exact };

// Stands for a mapped model file: weights lie in it as a file has them, at multiples of 32 bytes.
class WeightFile {
  public:
    WeightFile() {
        void* const memory = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        reserved_ = static_cast<std::byte*>(memory);
        const auto address = reinterpret_cast<uintptr_t>(memory);
        pages_ = reserved_ + ((kPage - address % kPage) % kPage);
    }
    ~WeightFile() { munmap(reserved_, kReserved); }
    WeightFile(const WeightFile&) = delete;
    WeightFile& operator=(const WeightFile&) = delete;

    std::span<const std::byte> mapping() const { return {pages_, kReserved - kPage}; }

    std::span<const std::byte> add(std::span<const std::byte> bytes) {
        const auto at = used_;
        used_ = (at + bytes.size() + kAlign - 1) / kAlign * kAlign + kAlign;
        EXPECT_LT(used_, kReserved - kPage);
        std::memcpy(pages_ + at, bytes.data(), bytes.size());
        return {pages_ + at, bytes.size()};
    }

  private:
    static constexpr size_t kPage = 16384, kAlign = 32;
    static constexpr size_t kReserved = size_t{1} << 31;  // address space; pages come when touched
    std::byte* reserved_ = nullptr;
    std::byte* pages_ = nullptr;
    size_t used_ = 3 * kAlign;
};

class OpRig {
  public:
    explicit OpRig(std::unique_ptr<Backend> backend, Placement placement = Placement::Padded)
        : backend_(std::move(backend)), placement_(placement) {
        backend_->add_mapping(file_.mapping());
    }

    Backend& backend() { return *backend_; }

    BufRef floats(std::span<const float> values) { return upload(std::as_bytes(values)); }
    BufRef ints(std::span<const int32_t> values) { return upload(std::as_bytes(values)); }
    BufRef upload(std::span<const std::byte> bytes) {
        const auto ref = buffer(bytes.size());
        write(ref, bytes);
        return ref;
    }
    // Memory for so many bytes, and the memory around it, filled with NaN.
    BufRef buffer(size_t bytes) {
        const bool padded = placement_ == Placement::Padded;
        const auto size = bytes + (padded ? kBefore + kAfter : 0);
        const auto id = backend_->alloc(size);
        EXPECT_TRUE(id) << id.error().what;
        const auto whole = BufRef{.backend = backend_->id(), .id = *id, .bytes = size};
        auto filling = std::vector<uint32_t>(size / sizeof(uint32_t), kMark);
        write(whole, std::as_bytes(std::span(filling)));
        auto ref = whole;
        ref.offset = padded ? kBefore : 0;
        ref.bytes = bytes;
        return ref;
    }
    void free(BufRef ref) { backend_->free(ref.id); }

    // What the buffer holds once the work that writes it is done.
    std::vector<float> view(BufRef ref) {
        const auto done = backend_->synchronize();
        EXPECT_TRUE(done) << done.error().what;
        auto values = std::vector<float>(ref.bytes / sizeof(float));
        const auto got = backend_->read(ref, std::as_writable_bytes(std::span(values)));
        EXPECT_TRUE(got) << got.error().what;
        return values;
    }

    void weight(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes) {
        const auto done = backend_->register_weight(
            {.name = std::move(name), .dtype = dtype, .shape = shape, .data = file_.add(bytes)});
        EXPECT_TRUE(done) << done.error().what;
        unfinished_ = true;
    }
    void weight(std::string name, std::span<const float> values) {
        weight(std::move(name), DType::F32, {values.size(), 1, 1, 1}, std::as_bytes(values));
    }

    struct Outcome {
        std::vector<float> values;
        std::string error;  // empty: it worked
    };

    Outcome run(Op op, Shape shape, std::span<const BufRef> in, std::optional<KvPair> kv = {}) {
        const auto out = buffer(elements(shape) * sizeof(float));
        const auto error = execute(std::move(op), shape, in, out, kv);
        expect_guards(out);
        auto values = view(out);
        free(out);
        return {std::move(values), error};
    }
    Outcome run(Op op, Shape shape, std::initializer_list<BufRef> in,
                std::optional<KvPair> kv = {}) {
        return run(std::move(op), shape, std::span(in.begin(), in.size()), kv);
    }

    // As run(), into the given place; returns the error.
    std::string execute(Op op, Shape shape, std::span<const BufRef> in, BufRef out,
                        std::optional<KvPair> kv = {}) {
        if (std::exchange(unfinished_, false)) {
            const auto finished = backend_->finish_weights();
            EXPECT_TRUE(finished) << finished.error().what;
        }
        const auto node = Node{.name = "tested", .op = std::move(op), .shape = shape};
        auto weights = std::vector<WeightId>();
        for (const auto name : op_weights(node.op))
            if (const auto id = backend_->find_weight(name)) weights.push_back(*id);
        const auto wanted = backend_->prepare(node);
        if (!wanted) return wanted.error().what;
        const auto scratch = *wanted ? buffer(*wanted) : BufRef();
        const auto done = backend_->execute({.node = &node,
                                             .in = in,
                                             .out = out,
                                             .kv = kv,
                                             .scratch = scratch,
                                             .weights = weights});
        const auto waited = backend_->synchronize();
        if (*wanted) {
            expect_guards(scratch);
            free(scratch);
        }
        if (!done) return done.error().what;
        return waited ? "" : waited.error().what;
    }

    // Nothing was written beside this part of its buffer.
    void expect_guards(BufRef ref) {
        if (placement_ != Placement::Padded) return;
        auto whole = ref;
        whole.offset = 0;
        whole.bytes = kBefore + ref.bytes + kAfter;
        const auto all = view(whole);
        const auto is_mark = [&](size_t i) { return std::bit_cast<uint32_t>(all[i]) == kMark; };
        const auto first = kBefore / sizeof(float), past = first + ref.bytes / sizeof(float);
        for (size_t i = 0; i < first; ++i)
            EXPECT_TRUE(is_mark(i)) << "written " << first - i << " before the output";
        for (size_t i = past; i < all.size(); ++i)
            EXPECT_TRUE(is_mark(i)) << "written " << i - past << " past the output";
    }

  private:
    // Whole elements, not whole vectors: a view may begin at any element.
    static constexpr size_t kBefore = 17 * sizeof(float), kAfter = 19 * sizeof(float);
    static constexpr uint32_t kMark = 0x7fc12345;  // a NaN; as an index or a cell out of any range

    void write(BufRef ref, std::span<const std::byte> bytes) {
        const auto done = backend_->write(ref, bytes);
        EXPECT_TRUE(done) << done.error().what;
    }

    WeightFile file_;  // outlives the backend that borrows from it
    std::unique_ptr<Backend> backend_;
    Placement placement_;
    bool unfinished_ = false;
};

}  // namespace minfer::test
