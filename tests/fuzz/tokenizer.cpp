// A vocabulary and a text, both out of the fuzzer's bytes: creating the tokenizer either works or
// gives one error, and every byte string comes back from its ids.

#include <fuzzer/FuzzedDataProvider.h>

#include "support/small_vocab.h"
#include "text/stream_decoder.h"

namespace minfer {
namespace {

// A token of the byte alphabet for any bytes, so that merges are often real ones.
std::string random_text(FuzzedDataProvider& in, const SmallVocab& vocab) {
    std::string text;
    for (const uint8_t byte : in.ConsumeRandomLengthString(6)) text += vocab.tokens[byte];
    return text;
}

void run(FuzzedDataProvider& in) {
    SmallVocab vocab;
    constexpr std::string_view kPre[] = {"qwen2", "qwen35", "deepseek-r1-qwen", "other"};
    const auto pre = in.PickValueInArray(kPre);
    const int n_tokens = in.ConsumeIntegralInRange(0, 12);
    for (int i = 0; i < n_tokens; ++i) {
        const auto text =
            in.ConsumeBool() ? random_text(in, vocab) : in.ConsumeRandomLengthString(12);
        vocab.add(text, static_cast<TokenKind>(in.ConsumeIntegralInRange(0, 6)));
    }
    const int n_merges = in.ConsumeIntegralInRange(0, 20);
    for (int i = 0; i < n_merges; ++i) {
        vocab.merges.push_back(in.ConsumeIntegralInRange(0, 15) == 0
                                   ? in.ConsumeRandomLengthString(12)
                                   : random_text(in, vocab) + ' ' + random_text(in, vocab));
    }
    if (in.ConsumeBool()) {  // any of the 256 bytes may lose its token or its kind
        const auto b = in.ConsumeIntegral<uint8_t>();
        vocab.tokens[b] = in.ConsumeRandomLengthString(4);
        vocab.kinds[b] = in.ConsumeIntegralInRange(1, 6);
    }
    auto source = vocab.source();
    source.pre = pre;
    if (in.ConsumeBool()) source.kinds.reset();
    if (in.ConsumeBool()) source.bos = in.ConsumeIntegralInRange<int64_t>(-1, 280);
    source.add_bos = in.ConsumeBool();
    const auto tokenizer = Tokenizer::create(source);
    if (!tokenizer) {
        MINFER_ASSERT(!tokenizer.error().what.empty());
        return;
    }

    const auto text = in.ConsumeRemainingBytesAsString();
    for (const bool parse_special : {false, true}) {
        const auto ids =
            tokenizer->encode(text, {.parse_special = parse_special, .add_bos = false});
        // A hidden token stands in for a byte that no ordinary one has, so they are shown.
        const auto back = tokenizer->decode(ids, {.show_control = true});
        MINFER_ASSERT(back.has_value() && *back == text);
        StreamDecoder stream(*tokenizer, {.show_control = true});
        std::string streamed;
        for (const auto id : ids) streamed += stream.push(id);
        streamed += stream.flush();
        MINFER_ASSERT(!find_invalid_utf8(streamed));
        if (!find_invalid_utf8(text)) MINFER_ASSERT(streamed == text);
    }
    tokenizer->encode(text);
}

}  // namespace
}  // namespace minfer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider in(data, size);
    minfer::run(in);
    return 0;
}
