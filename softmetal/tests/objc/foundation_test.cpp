// Foundation as metal-cpp offers it. What is tested here holds on a Mac too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <Foundation/Foundation.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace {

class Foundation : public testing::Test {
  protected:
    void SetUp() override { pool_ = NS::AutoreleasePool::alloc()->init(); }
    void TearDown() override { pool_->release(); }
    static NS::String* str(const char* text) {
        return NS::String::string(text, NS::UTF8StringEncoding);
    }

  private:
    NS::AutoreleasePool* pool_ = nullptr;
};

using String = Foundation;
TEST_F(String, CountsUtf16Units) {
    EXPECT_EQ(str("")->length(), 0u);
    EXPECT_EQ(str("abc")->length(), 3u);
    EXPECT_EQ(str("äöü")->length(), 3u);
    EXPECT_EQ(str("𝄞!")->length(), 3u);
    EXPECT_EQ(str("𝄞!")->character(0), 0xd834);
    EXPECT_EQ(str("𝄞!")->character(1), 0xdd1e);
    EXPECT_EQ(str("𝄞!")->character(2), '!');
}

TEST_F(String, KeepsUtf8) {
    for (const char* text : {"", "plain", "äöü", "日本語", "𝄞 clef"}) {
        EXPECT_STREQ(str(text)->utf8String(), text);
        EXPECT_EQ(str(text)->lengthOfBytes(NS::UTF8StringEncoding), std::strlen(text));
        EXPECT_STREQ(str(text)->cString(NS::UTF8StringEncoding), text);
        EXPECT_STREQ(str(text)->fileSystemRepresentation(), text);
    }
}

TEST_F(String, RefusesBytesThatAreNotText) {
    for (const char* bytes :
         {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
        EXPECT_EQ(NS::String::string(bytes, NS::UTF8StringEncoding), nullptr) << bytes;
    }
    EXPECT_EQ(NS::String::string("ä", NS::ASCIIStringEncoding), nullptr);
}

TEST_F(String, ConvertsEncodings) {
    NS::String* latin = NS::String::string("gr\xfc\xdf", NS::ISOLatin1StringEncoding);
    EXPECT_STREQ(latin->utf8String(), "grüß");
    EXPECT_STREQ(latin->cString(NS::ISOLatin1StringEncoding), "gr\xfc\xdf");
    EXPECT_EQ(latin->cString(NS::ASCIIStringEncoding), nullptr);
    EXPECT_EQ(latin->lengthOfBytes(NS::ISOLatin1StringEncoding), 4u);
    EXPECT_EQ(latin->lengthOfBytes(NS::UTF16LittleEndianStringEncoding), 8u);
    EXPECT_EQ(latin->lengthOfBytes(NS::ASCIIStringEncoding), 0u);
    EXPECT_GE(latin->maximumLengthOfBytes(NS::UTF8StringEncoding), 6u);

    char bytes[] = "\0g\0r\0\xfc\0\xdf";
    NS::String* wide = NS::String::alloc()->init(bytes, 8, NS::UTF16BigEndianStringEncoding, false);
    EXPECT_TRUE(wide->isEqualToString(latin));
    wide->release();
}

TEST_F(String, TakesOverBytesItIsGiven) {
    auto* bytes = static_cast<char*>(std::malloc(5));
    std::memcpy(bytes, "hello", 5);
    NS::String* taken = NS::String::alloc()->init(bytes, 5, NS::UTF8StringEncoding, true);
    EXPECT_STREQ(taken->utf8String(), "hello");
    taken->release();
}

TEST_F(String, ComparesByContent) {
    EXPECT_TRUE(str("abc")->isEqualToString(str("abc")));
    EXPECT_FALSE(str("abc")->isEqualToString(str("abd")));
    EXPECT_FALSE(str("abc")->isEqualToString(nullptr));
    EXPECT_TRUE(str("abc")->isEqual(str("abc")));
    EXPECT_FALSE(str("1")->isEqual(NS::Number::number(1)));
    NS::String* constant = MTLSTR("abc");
    EXPECT_EQ(str("abc")->hash(), constant->hash());
    EXPECT_EQ(str("abc")->caseInsensitiveCompare(str("ABC")), NS::OrderedSame);
    EXPECT_EQ(str("Ärger")->caseInsensitiveCompare(str("ärger")), NS::OrderedSame);
    EXPECT_EQ(str("abc")->caseInsensitiveCompare(str("ABD")), NS::OrderedAscending);
    EXPECT_EQ(str("abc")->caseInsensitiveCompare(str("AB")), NS::OrderedDescending);
}

TEST_F(String, FindsRanges) {
    NS::String* text = str("one two One");
    const auto at = [&](const char* wanted, NS::StringCompareOptions options) {
        return text->rangeOfString(str(wanted), options);
    };
    EXPECT_EQ(at("two", NS::LiteralSearch).location, 4u);
    EXPECT_EQ(at("two", NS::LiteralSearch).length, 3u);
    EXPECT_EQ(at("one", NS::BackwardsSearch).location, 0u);
    EXPECT_EQ(at("one", NS::CaseInsensitiveSearch | NS::BackwardsSearch).location, 8u);
    EXPECT_EQ(at("two", NS::AnchoredSearch).location, static_cast<NS::UInteger>(NS::NotFound));
    EXPECT_EQ(at("three", NS::LiteralSearch).location, static_cast<NS::UInteger>(NS::NotFound));
    EXPECT_EQ(at("One", NS::AnchoredSearch | NS::BackwardsSearch).location, 8u);
}

TEST_F(String, IsMadeInEveryWay) {
    EXPECT_STREQ(NS::String::string()->utf8String(), "");
    EXPECT_STREQ(NS::String::string(str("a"))->utf8String(), "a");
    auto made = NS::TransferPtr(NS::String::alloc()->init());
    EXPECT_EQ(made->length(), 0u);
    made = NS::TransferPtr(NS::String::alloc()->init(str("ü")));
    EXPECT_EQ(made->length(), 1u);
    made = NS::TransferPtr(NS::String::alloc()->init("x", NS::ASCIIStringEncoding));
    EXPECT_STREQ(made->utf8String(), "x");
    EXPECT_STREQ(str("ab")->stringByAppendingString(str("cd"))->utf8String(), "abcd");
    EXPECT_STREQ(str("ab")->description()->utf8String(), "ab");
    auto copied = NS::TransferPtr(str("ab")->copy());
    EXPECT_TRUE(copied->isEqualToString(str("ab")));
}

TEST_F(String, ConstantsAreStrings) {
    NS::String* ascii = MTLSTR("constant");
    NS::String* wide = MTLSTR("größer 𝄞");
    EXPECT_STREQ(ascii->utf8String(), "constant");
    EXPECT_STREQ(wide->utf8String(), "größer 𝄞");
    EXPECT_EQ(wide->length(), 9u);
    EXPECT_TRUE(wide->isEqualToString(str("größer 𝄞")));
    EXPECT_TRUE(str("constant")->isEqual(ascii));
    EXPECT_EQ(ascii->retain(), ascii);
    for (int i = 0; i < 3; ++i) ascii->release();  // constants cannot be released
    EXPECT_EQ(ascii->autorelease(), ascii);
    EXPECT_STREQ(ascii->utf8String(), "constant");
    EXPECT_STREQ(ascii->stringByAppendingString(wide)->utf8String(), "constantgrößer 𝄞");
}

using Array = Foundation;
TEST_F(Array, HoldsObjectsInOrder) {
    const NS::Object* objects[] = {str("a"), str("b"), str("c")};
    NS::Array* array = NS::Array::array(objects, 3);
    ASSERT_EQ(array->count(), 3u);
    EXPECT_STREQ(array->object<NS::String>(1)->utf8String(), "b");
    EXPECT_EQ(NS::Array::array()->count(), 0u);
    EXPECT_EQ(NS::Array::array(str("x"))->object<NS::String>(0)->length(), 1u);
    auto made = NS::TransferPtr(NS::Array::alloc()->init(objects, 2));
    EXPECT_EQ(made->count(), 2u);
    EXPECT_FALSE(made->isEqual(array));
    EXPECT_TRUE(array->isEqual(NS::Array::array(objects, 3)));
}

TEST_F(Array, KeepsItsObjectsAlive) {
    NS::String* member = NS::String::alloc()->init("member", NS::UTF8StringEncoding);
    NS::Array* array = NS::Array::alloc()->init(reinterpret_cast<NS::Object* const*>(&member), 1);
    EXPECT_EQ(member->retainCount(), 2u);
    member->release();
    EXPECT_STREQ(array->object<NS::String>(0)->utf8String(), "member");
    array->release();
}

TEST_F(Array, Enumerates) {
    const NS::Object* objects[] = {str("a"), str("b"), str("c")};
    NS::Enumerator<NS::Object>* each = NS::Array::array(objects, 3)->objectEnumerator();
    EXPECT_EQ(each->nextObject(), objects[0]);
    NS::Array* rest = each->allObjects();
    ASSERT_EQ(rest->count(), 2u);
    EXPECT_EQ(rest->object(1), objects[2]);
    EXPECT_EQ(each->nextObject(), nullptr);

    each = NS::Array::array(objects, 3)->objectEnumerator();
    NS::FastEnumerationState state = {};
    NS::Object* buffer[2];
    EXPECT_EQ(each->countByEnumerating(&state, buffer, 2), 2u);
    EXPECT_EQ(state.itemsPtr[1], objects[1]);
    EXPECT_EQ(each->countByEnumerating(&state, buffer, 2), 1u);
    EXPECT_EQ(state.itemsPtr[0], objects[2]);
    EXPECT_EQ(each->countByEnumerating(&state, buffer, 2), 0u);
}

using Dictionary = Foundation;
TEST_F(Dictionary, FindsByEqualKeys) {
    const NS::Object* keys[] = {str("one"), NS::Number::number(2)};
    const NS::Object* values[] = {NS::Number::number(1), str("two")};
    NS::Dictionary* map = NS::Dictionary::dictionary(values, keys, 2);
    EXPECT_EQ(map->count(), 2u);
    EXPECT_EQ(map->object<NS::Number>(MTLSTR("one"))->intValue(), 1);
    EXPECT_STREQ(map->object<NS::String>(NS::Number::number(2.0))->utf8String(), "two");
    EXPECT_EQ(map->object(str("absent")), nullptr);
    EXPECT_EQ(NS::Dictionary::dictionary()->count(), 0u);
    EXPECT_EQ(NS::Dictionary::dictionary(str("v"), str("k"))->count(), 1u);
    auto made = NS::TransferPtr(NS::Dictionary::alloc()->init(values, keys, 2));
    EXPECT_TRUE(made->isEqual(map));

    std::set<std::string> seen;
    auto* each = map->keyEnumerator<NS::Object>();
    while (NS::Object* key = each->nextObject()) seen.insert(key->description()->utf8String());
    EXPECT_EQ(seen, (std::set<std::string>{"one", "2"}));
}

using Set = Foundation;
TEST_F(Set, HoldsEqualObjectsOnce) {
    const NS::Object* objects[] = {str("a"), str("b"), str("a")};
    auto set = NS::TransferPtr(NS::Set::alloc()->init(objects, 3));
    EXPECT_EQ(set->count(), 2u);
    int n = 0;
    auto* each = set->objectEnumerator();
    while (each->nextObject()) ++n;
    EXPECT_EQ(n, 2);
}

using Number = Foundation;
TEST_F(Number, KeepsEveryType) {
    EXPECT_EQ(NS::Number::number(static_cast<char>(-5))->charValue(), -5);
    EXPECT_EQ(NS::Number::number(static_cast<unsigned char>(200))->unsignedCharValue(), 200);
    EXPECT_EQ(NS::Number::number(static_cast<short>(-3000))->shortValue(), -3000);
    EXPECT_EQ(NS::Number::number(static_cast<unsigned short>(60000))->unsignedShortValue(), 60000);
    EXPECT_EQ(NS::Number::number(-7)->intValue(), -7);
    EXPECT_EQ(NS::Number::number(7u)->unsignedIntValue(), 7u);
    EXPECT_EQ(NS::Number::number(INT64_MIN)->longValue(), INT64_MIN);
    EXPECT_EQ(NS::Number::number(UINT64_MAX)->unsignedLongValue(), UINT64_MAX);
    EXPECT_EQ(NS::Number::number(1.5f)->floatValue(), 1.5f);
    EXPECT_EQ(NS::Number::number(0.1)->doubleValue(), 0.1);
    EXPECT_TRUE(NS::Number::number(true)->boolValue());
    EXPECT_EQ(NS::Number::number(42LL)->integerValue(), 42);
    EXPECT_EQ(NS::Number::number(2.75)->intValue(), 2);
    EXPECT_STREQ(NS::Number::number(1.0f)->objCType(), "f");
    EXPECT_STREQ(NS::Number::number(-12)->stringValue()->utf8String(), "-12");
    EXPECT_STREQ(NS::Number::number(0.1f)->stringValue()->utf8String(), "0.1");
    auto made = NS::TransferPtr(NS::Number::alloc()->init(2.5));
    EXPECT_EQ(made->doubleValue(), 2.5);
}

TEST_F(Number, ComparesAcrossTypes) {
    EXPECT_TRUE(NS::Number::number(3)->isEqualToNumber(NS::Number::number(3.0)));
    EXPECT_EQ(NS::Number::number(3)->hash(), NS::Number::number(3.0)->hash());
    EXPECT_EQ(NS::Number::number(-1)->compare(NS::Number::number(UINT64_MAX)),
              NS::OrderedAscending);
    EXPECT_EQ(NS::Number::number(INT64_MAX)->compare(NS::Number::number(INT64_MAX - 1)),
              NS::OrderedDescending);
}

TEST_F(Number, ValuesCarryBytes) {
    struct Pair {
        int number;
        double fraction;
    };
    const Pair pair = {4, 0.25};
    NS::Value* value = NS::Value::value(&pair, "{Pair=id}");
    Pair out = {};
    value->getValue(&out, sizeof(out));
    EXPECT_EQ(out.number, 4);
    EXPECT_EQ(out.fraction, 0.25);
    EXPECT_STREQ(value->objCType(), "{Pair=id}");
    EXPECT_TRUE(value->isEqualToValue(NS::Value::value(&pair, "{Pair=id}")));
    EXPECT_EQ(NS::Value::value(&pair)->pointerValue(), &pair);
}

using Error = Foundation;
TEST_F(Error, CarriesDomainCodeAndText) {
    NS::Dictionary* info = NS::Dictionary::dictionary(str("it broke"), NS::LocalizedDescriptionKey);
    NS::Error* error = NS::Error::error(NS::POSIXErrorDomain, 5, info);
    EXPECT_EQ(error->code(), 5);
    EXPECT_TRUE(error->domain()->isEqualToString(str("NSPOSIXErrorDomain")));
    EXPECT_STREQ(error->localizedDescription()->utf8String(), "it broke");
    EXPECT_EQ(error->userInfo()->count(), 1u);
    EXPECT_EQ(error->localizedFailureReason(), nullptr);
    EXPECT_NE(std::string(error->description()->utf8String()).find("it broke"), std::string::npos);

    auto bare = NS::TransferPtr(NS::Error::alloc()->init(str("own"), -3, nullptr));
    EXPECT_EQ(bare->code(), -3);
    EXPECT_NE(std::string(bare->localizedDescription()->utf8String()).find("own"),
              std::string::npos);
}

TEST_F(Error, ConstantsHaveTheirValues) {
    EXPECT_STREQ(NS::CocoaErrorDomain->utf8String(), "NSCocoaErrorDomain");
    EXPECT_STREQ(NS::MachErrorDomain->utf8String(), "NSMachErrorDomain");
    EXPECT_STREQ(NS::UnderlyingErrorKey->utf8String(), "NSUnderlyingError");
    EXPECT_STREQ(NS::FilePathErrorKey->utf8String(), "NSFilePath");
    EXPECT_STREQ(NS::BundleDidLoadNotification->utf8String(), "NSBundleDidLoadNotification");
}

using Url = Foundation;
TEST_F(Url, NamesFiles) {
    EXPECT_STREQ(NS::URL::fileURLWithPath(str("/a b/ü.metal"))->fileSystemRepresentation(),
                 "/a b/ü.metal");
    auto made = NS::TransferPtr(NS::URL::alloc()->initFileURLWithPath(str("/x/y")));
    EXPECT_STREQ(made->fileSystemRepresentation(), "/x/y");
    made = NS::TransferPtr(NS::URL::alloc()->init(str("file:///a%20b/c")));
    EXPECT_STREQ(made->fileSystemRepresentation(), "/a b/c");
    const auto here = std::filesystem::current_path() / "rel.txt";
    EXPECT_EQ(NS::URL::fileURLWithPath(str("rel.txt"))->fileSystemRepresentation(), here.string());
}

using ProcessInfo = Foundation;
TEST_F(ProcessInfo, KnowsProcessAndMachine) {
    NS::ProcessInfo* info = NS::ProcessInfo::processInfo();
    EXPECT_EQ(info, NS::ProcessInfo::processInfo());
    EXPECT_EQ(info->processIdentifier(), getpid());
    EXPECT_GE(info->arguments()->count(), 1u);
    EXPECT_STREQ(info->environment()->object<NS::String>(str("PATH"))->utf8String(),
                 std::getenv("PATH"));
    EXPECT_GT(info->physicalMemory(), 1u << 28);
    EXPECT_GE(info->processorCount(), info->activeProcessorCount());
    EXPECT_GE(info->activeProcessorCount(), 1u);
    EXPECT_GT(info->systemUptime(), 0);
    EXPECT_FALSE(info->globallyUniqueString()->isEqual(info->globallyUniqueString()));
    EXPECT_GT(info->hostName()->length(), 0u);
}

TEST_F(ProcessInfo, ReturnsLargeStructs) {
    const NS::OperatingSystemVersion version =
        NS::ProcessInfo::processInfo()->operatingSystemVersion();
    EXPECT_GE(version.majorVersion, 13);
    NS::ProcessInfo* info = NS::ProcessInfo::processInfo();
    EXPECT_TRUE(info->isOperatingSystemAtLeastVersion(version));
    EXPECT_TRUE(info->isOperatingSystemAtLeastVersion({version.majorVersion - 1, 99, 0}));
    EXPECT_FALSE(info->isOperatingSystemAtLeastVersion({version.majorVersion + 1, 0, 0}));
    EXPECT_FALSE(
        info->isOperatingSystemAtLeastVersion({version.majorVersion, version.minorVersion + 1, 0}));
}

TEST_F(ProcessInfo, RunsActivities) {
    int runs = 0;
    int* count = &runs;
    NS::ProcessInfo::processInfo()->performActivity(NS::ActivityUserInitiated, str("test"),
                                                    [count] { ++*count; });
    EXPECT_EQ(runs, 1);
    NS::Object* activity =
        NS::ProcessInfo::processInfo()->beginActivity(NS::ActivityBackground, str("test"));
    EXPECT_NE(activity, nullptr);
    NS::ProcessInfo::processInfo()->endActivity(activity);
}

using Bundle = Foundation;
TEST_F(Bundle, MainIsTheProgramsFolder) {
    NS::Bundle* main = NS::Bundle::mainBundle();
    const std::filesystem::path program = main->executablePath()->utf8String();
    EXPECT_TRUE(std::filesystem::exists(program));
    EXPECT_EQ(main->bundlePath()->utf8String(), program.parent_path());
    EXPECT_TRUE(std::filesystem::is_directory(main->resourcePath()->utf8String()));
    EXPECT_EQ(main->bundleURL()->fileSystemRepresentation(), program.parent_path());
    EXPECT_TRUE(main->isLoaded());
    EXPECT_EQ(NS::Bundle::bundle(str("/no/such/folder")), nullptr);
    EXPECT_STREQ(main->localizedString(str("key"), str("value"))->utf8String(), "value");
}

using Condition = Foundation;
TEST_F(Condition, WakesAWaiter) {
    auto condition = NS::TransferPtr(NS::Condition::alloc()->init());
    bool ready = false;
    std::thread waker([&] {
        condition->lock();
        ready = true;
        condition->broadcast();
        condition->unlock();
    });
    condition->lock();
    while (!ready) condition->wait();
    EXPECT_FALSE(condition->waitUntilDate(NS::Date::dateWithTimeIntervalSinceNow(-1)));
    condition->unlock();
    waker.join();
}

}  // namespace
