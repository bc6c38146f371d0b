#include "runtime/stop_strings.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

// Feeds the text in pieces of `step` bytes and returns what was let through.
std::string shown(const std::vector<std::string>& stops, std::string_view text, size_t step,
                  bool* hit) {
    auto watch = StopStrings(stops);
    std::string out;
    for (size_t at = 0; at < text.size() && !watch.hit(); at += step)
        out += watch.push(text.substr(at, step));
    *hit = watch.hit();
    return out + watch.flush();
}

TEST(StopStrings, EarliestStartWinsHoweverTheTextArrives) {
    const std::vector<std::string> stops = {"END", "\n\n", "abcabd"};
    struct Case {
        std::string text, want;
        bool hit;
    };
    for (const auto& [text, want, hit] : std::vector<Case>{{"one END two", "one ", true},
                                                           {"a\n\nEND", "a", true},
                                                           {"abcabcabd!", "abc", true},
                                                           {"EN EN E", "EN EN E", false},
                                                           {"END", "", true},
                                                           {"", "", false},
                                                           {"\n", "\n", false}})
        for (size_t step = 1; step <= text.size() + 1; ++step) {
            bool found = false;
            EXPECT_EQ(shown(stops, text, step, &found), want) << text << " by " << step;
            EXPECT_EQ(found, hit) << text << " by " << step;
        }
}

TEST(StopStrings, HoldsBackOnlyWhatMayBecomeAStop) {
    auto watch = StopStrings({"STOP"});
    EXPECT_EQ(watch.push("go ST"), "go ");
    EXPECT_EQ(watch.push("ART"), "START");
    EXPECT_EQ(watch.push("S"), "");
    EXPECT_EQ(watch.flush(), "S");
}

TEST(StopStrings, IgnoresEmptyStrings) {
    auto watch = StopStrings({""});
    EXPECT_EQ(watch.push("text"), "text");
    EXPECT_FALSE(watch.hit());
}

}  // namespace
}  // namespace minfer
