// A session file is whatever lies on the disk: it is refused politely, or what it holds is sound
// and stays so whatever is done with it. Lengths and checksum are made right, since nobody guesses
// them.

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/session_file.h"
#include "support/session_bytes.h"
#include "support/session_cache.h"

namespace minfer::test {
namespace {

constexpr SessionCache::Size kSize{.n_ctx = 24, .n_layer = 1, .width = 2};

Result<SavedSession> opened(std::span<const std::byte> bytes, const SessionShape& run) {
    static const auto memory = Descriptor(::memfd_create("session", MFD_CLOEXEC));
    const auto size = static_cast<ssize_t>(bytes.size());
    MINFER_ASSERT(::ftruncate(memory.number(), size) == 0);
    MINFER_ASSERT(::pwrite(memory.number(), bytes.data(), bytes.size(), 0) == size);
    return SavedSession::verify(
        {.descriptor = Descriptor(::dup(memory.number())), .size = bytes.size()}, run);
}

// What is over or missing becomes the host's.
void repair(std::span<std::byte> bytes) {
    auto header = read_session_header(bytes);
    if (header && bytes.size() >= sizeof *header + sizeof(uint64_t)) {
        header->host_bytes = 0;
        const auto without = session_bytes(*header);
        if (without && *without <= bytes.size()) header->host_bytes = bytes.size() - *without;
        std::ranges::copy(bytes_of(*header), bytes.begin());
    }
    if (bytes.size() >= sizeof(uint64_t)) resum(bytes);
}

void check(const KvCache& cache) {
    MINFER_ASSERT(cache.store().check());
    for (const auto& [seq, sequence] : cache.store().sequences()) {
        const auto& tokens = cache.tokens().at(seq);
        MINFER_ASSERT(tokens.ids.size() == sequence.written);
        MINFER_ASSERT(tokens.exact <= sequence.written);
    }
}

// Three bytes are one operation.
void operate(KvCache& cache, std::span<const std::byte> script) {
    for (; script.size() >= 3; script = script.subspan(3)) {
        const auto number = [&](size_t i) { return std::to_integer<uint32_t>(script[i]); };
        const auto a = SeqId{number(1) % 8}, b = SeqId{number(1) / 8 % 8};
        const size_t n = number(2) % 16, m = number(2) / 16;
        switch (number(0) % 9) {
            case 0:
                (void)cache.reserve(a, n).has_value();
                break;
            case 1:
                cache.release(a);
                break;
            case 2:
                (void)cache.truncate(a, n).has_value();
                break;
            case 3:
                (void)cache.set_capacity(a, n).has_value();
                break;
            case 4:
                (void)cache.share_prefix(a, b, n).has_value();
                break;
            case 5:
                (void)cache.copy_prefix(a, b, n).has_value();
                break;
            case 6:
                (void)cache.make_own(a, n).has_value();
                break;
            case 7:
                (void)cache.remove(a, n, m).has_value();
                break;
            default:
                (void)cache.compact(n).has_value();
        }
        check(cache);
    }
}

void run(Bytes bytes) {
    SessionCache run(KvFormat::F32, kSize);
    const auto as_it_is = opened(bytes, run.shape);
    if (!as_it_is) MINFER_ASSERT(as_it_is.error().what.size() < 600);
    repair(bytes);
    const auto session = opened(bytes, run.shape);
    if (!session) return;
    const auto length = field<uint64_t>(bytes, 56);
    MINFER_ASSERT(std::ranges::equal(encode_sequences(session->store(), session->tokens()),
                                     std::span(bytes).subspan(sizeof(SessionHeader), length)));
    MINFER_ASSERT(session->load_into(run.cache));
    check(run.cache);
    operate(run.cache, session->host());
}

}  // namespace
}  // namespace minfer::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    minfer::test::run({bytes.begin(), bytes.end()});
    return 0;
}
