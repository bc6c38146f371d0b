#include "text/tokenizer.h"

#include <algorithm>

#include "base/printable.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/pretokenizer.h"

namespace minfer {
namespace {

// Converters mark some of these as ordinary tokens; their text decides.
struct KnownControl {
    std::string_view text;
    bool ends_generation;
};
constexpr KnownControl kKnownControls[] = {
    {"<|endoftext|>", true},   {"<|im_start|>", false},   {"<|im_end|>", true},
    {"<|fim_prefix|>", false}, {"<|fim_middle|>", false}, {"<|fim_suffix|>", false},
    {"<|fim_pad|>", true},     {"<|repo_name|>", true},   {"<|file_sep|>", true},
};

const KnownControl* find_known_control(std::string_view text) {
    const auto* known = std::ranges::find(kKnownControls, text, &KnownControl::text);
    return known == std::end(kKnownControls) ? nullptr : known;
}

struct PreTokenizerName {
    std::string_view name;
    PreTokenizer rules;
};
constexpr PreTokenizerName kPreTokenizers[] = {
    {"qwen2", PreTokenizer::Qwen2},
    {"deepseek-r1-qwen", PreTokenizer::Qwen2},
    {"qwen35", PreTokenizer::Qwen35},
};

// What follows is numbered with 32 bits, with room for symbols that no token has.
constexpr size_t kMaxTokens = size_t{1} << 28;
constexpr size_t kMaxTextBytes = size_t{1} << 30;

Result<> check_arrays(const VocabSource& source) {
    if (source.model != "gpt2") {
        return fail(Fault::Unsupported, "tokenizer.ggml.model is {}, allowed is gpt2",
                    printable(source.model));
    }
    const size_t n_tokens = source.tokens.size();
    if (n_tokens == 0) return fail(Fault::BadInput, "tokenizer.ggml.tokens is missing or empty");
    if (source.merges.empty()) {
        return fail(Fault::BadInput, "tokenizer.ggml.merges is missing or empty");
    }
    if (n_tokens > kMaxTokens || source.merges.size() > kMaxTokens) {
        return fail(Fault::Unsupported,
                    "the vocabulary has {} tokens and {} merges, allowed are {} of each", n_tokens,
                    source.merges.size(), kMaxTokens);
    }
    if (source.kinds && source.kinds->size() != n_tokens) {
        return fail(Fault::BadInput, "tokenizer.ggml.token_type has {} entries for {} tokens",
                    source.kinds->size(), n_tokens);
    }
    if (source.n_scores && *source.n_scores != n_tokens) {
        return fail(Fault::BadInput, "tokenizer.ggml.scores has {} entries for {} tokens",
                    *source.n_scores, n_tokens);
    }
    size_t n_bytes = 0;
    for (const auto text : source.tokens) n_bytes += text.size();
    for (const auto text : source.merges) n_bytes += text.size();
    if (n_bytes > kMaxTextBytes) {
        return fail(Fault::Unsupported,
                    "the texts of tokens and merges take {} bytes, allowed are {}", n_bytes,
                    kMaxTextBytes);
    }
    return {};
}

Result<PreTokenizer> pre_tokenizer_named(std::string_view name) {
    const auto* found = std::ranges::find(kPreTokenizers, name, &PreTokenizerName::name);
    if (found != std::end(kPreTokenizers)) return found->rules;
    return fail(Fault::Unsupported,
                "tokenizer.ggml.pre is {}, allowed are qwen2, deepseek-r1-qwen, qwen35",
                name.empty() ? "missing" : printable(name));
}

Result<TokenKind> kind_of_token(const VocabSource& source, size_t i) {
    if (find_known_control(source.tokens[i])) return TokenKind::Control;
    if (!source.kinds) return TokenKind::Normal;
    const int32_t number = (*source.kinds)[i];
    if (number < 1 || number > 6) {
        return fail(Fault::BadInput, "tokenizer.ggml.token_type[{}] is {}, allowed are 1 to 6", i,
                    number);
    }
    return static_cast<TokenKind>(number);
}

Result<std::optional<TokenId>> checked_id(std::string_view name, std::optional<int64_t> id,
                                          size_t n_tokens) {
    if (!id) return std::nullopt;
    if (*id < 0 || *id >= static_cast<int64_t>(n_tokens)) {
        return fail(Fault::BadInput,
                    "tokenizer.ggml.{}_token_id is {}, the vocabulary has {} tokens", name, *id,
                    n_tokens);
    }
    return TokenId{static_cast<int32_t>(*id)};
}

// The two sides of every merge as bytes. A merge with characters outside the byte alphabet can
// never apply; it keeps its rank with two empty sides, which no text has.
struct Merges {
    std::vector<char> bytes;  // a vector: unlike a short string, it keeps its place when moved
    std::vector<std::pair<std::string_view, std::string_view>> pairs;  // into bytes
};
Result<Merges> read_merges(const VocabSource& source) {
    struct Sizes {
        size_t left, right;
    };
    std::vector<Sizes> sizes;
    sizes.reserve(source.merges.size());
    Merges out;
    for (size_t i = 0; i < source.merges.size(); ++i) {
        const auto text = source.merges[i];
        const size_t space = text.find(' ', 1);
        if (space == std::string_view::npos || space + 1 == text.size()) {
            return fail(Fault::BadInput,
                        "tokenizer.ggml.merges[{}] is {}, expected two texts and a space between",
                        i, printable(text));
        }
        const auto left = bytes_of_token_text(text.substr(0, space));
        const auto right = bytes_of_token_text(text.substr(space + 1));
        const bool usable = left && right;
        sizes.push_back(usable ? Sizes{left->size(), right->size()} : Sizes{0, 0});
        if (!usable) continue;
        out.bytes.insert(out.bytes.end(), left->begin(), left->end());
        out.bytes.insert(out.bytes.end(), right->begin(), right->end());
    }
    std::string_view rest(out.bytes.data(), out.bytes.size());
    for (const auto& [left, right] : sizes) {
        out.pairs.emplace_back(rest.substr(0, left), rest.substr(left, right));
        rest.remove_prefix(left + right);
    }
    return out;
}

bool is_ordinary(TokenKind kind) { return kind == TokenKind::Normal || kind == TokenKind::Byte; }
bool is_hidden(TokenKind kind) { return kind == TokenKind::Control || kind == TokenKind::Unknown; }

}  // namespace

Result<Tokenizer> Tokenizer::create(const VocabSource& source) {
    MINFER_TRY(check_arrays(source));
    const size_t n_tokens = source.tokens.size();
    Tokenizer out;
    out.pre_ = MINFER_TRY(pre_tokenizer_named(source.pre));
    out.bos_ = MINFER_TRY(checked_id("bos", source.bos, n_tokens));
    out.eos_ = MINFER_TRY(checked_id("eos", source.eos, n_tokens));
    const auto eot = MINFER_TRY(checked_id("eot", source.eot, n_tokens));
    MINFER_TRY(checked_id("padding", source.pad, n_tokens));
    out.add_bos_ = source.add_bos;
    if (out.add_bos_ && !out.bos_) {
        return fail(Fault::BadInput,
                    "tokenizer.ggml.add_bos_token is true, but tokenizer.ggml.bos_token_id is "
                    "missing");
    }

    std::vector<bool> mergeable(n_tokens);
    std::vector<SpecialTokens::Entry> specials;
    out.kinds_.reserve(n_tokens);
    out.offsets_.reserve(n_tokens + 1);
    out.offsets_.push_back(0);
    for (size_t i = 0; i < n_tokens; ++i) {
        const auto id = TokenId{static_cast<int32_t>(i)};
        const auto text = source.tokens[i];
        const auto kind = MINFER_TRY(kind_of_token(source, i));
        const auto* known = find_known_control(text);
        if (id == out.eos_ || id == eot || (known && known->ends_generation)) {
            out.ends_.push_back(id);
        }
        const auto bytes = is_ordinary(kind) ? bytes_of_token_text(text) : std::nullopt;
        mergeable[i] = bytes.has_value();
        if (kind != TokenKind::Unused) out.bytes_.append(bytes ? *bytes : text);
        out.offsets_.push_back(static_cast<uint32_t>(out.bytes_.size()));
        out.kinds_.push_back(kind);
        if (kind == TokenKind::Control || kind == TokenKind::UserDefined) {
            specials.push_back({std::string(text), id, kind == TokenKind::Control});
        }
    }
    out.specials_ = SpecialTokens(std::move(specials));

    std::vector<std::string_view> ordinary(n_tokens);
    std::array<TokenId, 256> byte_tokens;
    byte_tokens.fill(TokenId{-1});
    const auto claim_byte = [&](std::string_view bytes, size_t i) {
        if (bytes.size() != 1) return;
        auto& token = byte_tokens[static_cast<uint8_t>(bytes[0])];
        if (token == TokenId{-1}) token = TokenId{static_cast<int32_t>(i)};
    };
    const auto bytes_of = [&](size_t i) {
        return std::string_view(out.bytes_)
            .substr(out.offsets_[i], out.offsets_[i + 1] - out.offsets_[i]);
    };
    for (size_t i = 0; i < n_tokens; ++i) {
        if (!mergeable[i]) continue;
        ordinary[i] = bytes_of(i);
        claim_byte(ordinary[i], i);
    }
    // A special token of one ASCII character, such as '!', serves where no ordinary one does.
    for (size_t i = 0; i < n_tokens; ++i) {
        if (!mergeable[i]) claim_byte(bytes_of(i), i);
    }
    if (const auto* missing = std::ranges::find(byte_tokens, TokenId{-1});
        missing != byte_tokens.end()) {
        return fail(Fault::BadInput, "tokenizer.ggml.tokens has no token for byte 0x{:02X}",
                    missing - byte_tokens.begin());
    }
    const auto merges = MINFER_TRY(read_merges(source));
    out.pairs_ = BytePairEncoder::build(ordinary, byte_tokens, merges.pairs);
    return out;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    std::vector<TokenId> ids;
    BytePairEncoder::Workspace work;
    const auto encode_plain = [&](std::string_view plain) {
        for (size_t begin = 0; begin < plain.size();) {
            const size_t end = piece_end(pre_, plain, begin);
            pairs_.encode(plain.substr(begin, end - begin), work, ids);
            begin = end;
        }
    };
    size_t done = 0;
    while (const auto special = specials_.find(text, done, options.parse_special)) {
        encode_plain(text.substr(done, special->begin - done));
        ids.push_back(special->id);
        done = special->end;
    }
    encode_plain(text.substr(done));
    if (options.add_bos && add_bos_ && (ids.empty() || ids.front() != *bos_)) {
        ids.insert(ids.begin(), *bos_);
    }
    return ids;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
    std::string text;
    for (const auto id : ids) {
        if (!contains(id)) {
            return fail(Fault::BadInput, "token id {} lies outside the vocabulary of {} tokens",
                        static_cast<int32_t>(id), size());
        }
        text += piece(id, options);
    }
    return text;
}

std::string_view Tokenizer::piece(TokenId id, DecodeOptions options) const {
    if (!contains(id)) return {};
    const auto i = static_cast<size_t>(id);
    if (is_hidden(kinds_[i]) && !options.show_control) return {};
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::optional<TokenId> Tokenizer::find(std::string_view bytes) const {
    std::optional<TokenId> ordinary;
    for (size_t i = 0; i < size() && !bytes.empty(); ++i) {
        const auto id = TokenId{static_cast<int32_t>(i)};
        if (piece(id, {.show_control = true}) != bytes) continue;
        if (!is_ordinary(kinds_[i])) return id;
        if (!ordinary) ordinary = id;
    }
    return ordinary;
}

bool Tokenizer::is_end(TokenId id) const { return std::ranges::binary_search(ends_, id); }

TokenKind Tokenizer::kind(TokenId id) const {
    MINFER_ASSERT(contains(id));
    return kinds_[static_cast<size_t>(id)];
}

}  // namespace minfer
