#include "text/chat_messages.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

std::string normalised(const char* messages) {
    const auto result = normalise_messages(Json::parse(messages));
    return result ? result->dump() : result.error().what;
}

TEST(ChatMessages, KeepsRolesAndOtherFields) {
    EXPECT_EQ(normalised(R"([{"role":"user","content":"hi","name":"x"},
                             {"role":"assistant","content":"","tool_calls":[{"id":"1"}]},
                             {"role":"tool","content":"42"},{"role":"system","content":"s"}])"),
              R"([{"role":"user","content":"hi","name":"x"},)"
              R"({"role":"assistant","content":"","tool_calls":[{"id":"1"}]},)"
              R"({"role":"tool","content":"42"},{"role":"system","content":"s"}])");
}

TEST(ChatMessages, DeveloperBecomesSystem) {
    EXPECT_EQ(normalised(R"([{"role":"developer","content":"x"}])"),
              R"([{"role":"system","content":"x"}])");
}

TEST(ChatMessages, RefusesUnknownRolesByIndex) {
    EXPECT_EQ(normalised(R"([{"role":"user","content":"x"},{"role":"robot","content":"x"}])"),
              "messages[1]: role 'robot' is not one of system, user, assistant, tool, developer");
    EXPECT_EQ(normalised(R"([{"content":"x"}])"), "messages[0]: no role");
    EXPECT_EQ(normalised(R"([{"role":3}])"), "messages[0]: role is a number, not a string");
}

TEST(ChatMessages, JoinsTextPartsInOrder) {
    EXPECT_EQ(normalised(R"([{"role":"user","content":[{"type":"text","text":"a"},"b",
                             {"type":"text","text":"c"}]}])"),
              R"([{"role":"user","content":"abc"}])");
    EXPECT_EQ(normalised(R"([{"role":"user","content":[]}])"), R"([{"role":"user","content":""}])");
}

TEST(ChatMessages, NoContentIsEmptyContent) {
    EXPECT_EQ(normalised(R"([{"role":"assistant","content":null}])"),
              R"([{"role":"assistant","content":""}])");
    EXPECT_EQ(normalised(R"([{"role":"assistant"}])"), R"([{"role":"assistant","content":""}])");
}

TEST(ChatMessages, RefusesOtherContent) {
    EXPECT_EQ(normalised(R"([{"role":"user","content":7}])"),
              "messages[0]: content is a number, not a string, null or an array of parts");
    EXPECT_EQ(normalised(R"([{"role":"user","content":["a",{"type":"image_url"}]}])"),
              "messages[0]: content part 1 has type 'image_url', only 'text' is understood");
    EXPECT_EQ(normalised(R"([{"role":"user","content":[{"text":"a"}]}])"),
              "messages[0]: content part 0 has no type that is a string");
    EXPECT_EQ(normalised(R"([{"role":"user","content":[{"type":"text"}]}])"),
              "messages[0]: content part 0 has no text that is a string");
    EXPECT_EQ(normalised(R"([{"role":"user","content":[1]}])"),
              "messages[0]: content part 0 is a number, not an object");
    EXPECT_EQ(normalised(R"(["hi"])"), "messages[0]: is a string, not an object");
    EXPECT_EQ(normalised(R"({})"), "messages is a object, not an array");
}

TEST(ChatMessages, NewTurnTextIsWhatThePastLacks) {
    EXPECT_EQ(new_turn_text("", "abc"), "abc");
    EXPECT_EQ(new_turn_text("ab", "abc"), "c");
    EXPECT_EQ(new_turn_text("ab\n", "ab\nc"), "\nc");  // the model never saw that newline
    EXPECT_EQ(new_turn_text("ab\n", "ab\n"), "\n");
    EXPECT_EQ(new_turn_text("ax", "abc"), std::nullopt);
    EXPECT_EQ(new_turn_text("abcd", "abc"), std::nullopt);
}

TEST(ChatMessages, OpenLastMessageEndsWithItsText) {
    EXPECT_EQ(open_last_message("<u>hi</u><a>hi</a>\n", "hi"), "<u>hi</u><a>hi");
    EXPECT_EQ(open_last_message("<a>hi</a>\n", "ho"), std::nullopt);
    EXPECT_EQ(open_last_message("<a></a>\n", ""), std::nullopt);
}

}  // namespace
}  // namespace minfer
