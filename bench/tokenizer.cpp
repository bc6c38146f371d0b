// How fast text becomes ids, on one core: processor time, so that a busy machine matters less.
//   bench_tokenizer TOKENIZER.json.xz TEXT.xz [IDS]
// IDS receives the ids as 32-bit integers, for a comparison with another tokenizer.

#include <ctime>
#include <fstream>

#include "support/hub_tokenizer.h"
#include "support/small_vocab.h"
#include "text/tokenizer.h"

namespace minfer {
namespace {

double seconds_of(auto&& work) {
    const auto begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

int measure(const VocabSource& source, const std::string& text, const char* ids_file) {
    fmt::print("create  {:8.1f} ms\n",
               1e3 * seconds_of([&] { MINFER_ASSERT(Tokenizer::create(source).has_value()); }));
    const auto tokenizer = Tokenizer::create(source);
    std::vector<TokenId> ids;
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
        best = std::min(best, seconds_of([&] { ids = tokenizer->encode(text); }));
    }
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    fmt::print("encode  {:8.1f} MB/s  ({:.1f} MB, {} ids)\n", megabytes / best, megabytes,
               ids.size());
    std::string decoded;
    const double decode_s =
        seconds_of([&] { decoded = *tokenizer->decode(ids, {.show_control = true}); });
    fmt::print("decode  {:8.1f} MB/s\n", megabytes / decode_s);
    MINFER_ASSERT(decoded == text);
    if (ids_file) {
        std::ofstream(ids_file, std::ios::binary)
            .write(reinterpret_cast<const char*>(ids.data()),
                   static_cast<std::streamsize>(ids.size() * sizeof(TokenId)));
    }
    return 0;
}

int run(int n_args, char** args) {
    if (n_args == 2 && std::string_view(args[1]) == "--smoke") {  // a test's: no files are wanted
        const auto vocab = SmallVocab();
        return measure(vocab.source(), "a few words of little use", nullptr);
    }
    if (n_args < 3 || n_args > 4) {
        fmt::print(stderr, "usage: bench_tokenizer TOKENIZER.json.xz TEXT.xz [IDS]\n");
        return 2;
    }
    const auto vocab = read_hub_vocab(nlohmann::json::parse(read_xz(args[1])));
    return measure(vocab.source(), read_xz(args[2]), n_args > 3 ? args[3] : nullptr);
}

}  // namespace
}  // namespace minfer

int main(int n_args, char** args) { return minfer::run(n_args, args); }
