// What objc_msgSend and its kin deliver, and how a message nobody answers ends.
#include <gtest/gtest.h>

#include <Foundation/Foundation.hpp>
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "softmetal/tests/objc/probe.h"

namespace objc = softmetal::objc;

namespace {

struct Large {
    uint64_t a, b, c;
};
struct Mixed {
    double x;
    uint64_t n;
};

struct Probe : objc::Object {
    int value = 7;

    int plain() const { return value; }
    double everything(int a, uint64_t b, short c, bool d, double e, float f, double g, double h,
                      double i, double j, double k, double l, double on_stack, uint64_t last,
                      Large by_value) {
        return a + 10.0 * static_cast<double>(b) + 100.0 * c + 1000.0 * d + e + f + g + h + i + j +
               k + l + on_stack + static_cast<double>(last + by_value.a + by_value.b + by_value.c);
    }
    Large large(uint64_t from, double scale) {
        const auto s = static_cast<uint64_t>(scale);
        return {from * s, (from + 1) * s, (from + 2) * s};
    }
    Mixed mixed(double x) { return {x, static_cast<uint64_t>(value)}; }
    float single(float x) { return x + 0.5f; }
    bool truth(bool x) { return !x; }
};
struct Derived : Probe {
    int doubled() { return 2 * value; }
    int overridden() { return -1; }
};
int free_function(Probe* self, int add) { return self->value + add; }
int overridden_below(Probe*) { return 1; }
int of_the_class(int x) { return x * 3; }
template <int N>
int numbered(Probe*) {
    return N;
}

void define_probes() {
    static const bool once = [] {
        using namespace softmetal::objc;
        register_classes();
        define_class<Probe>("SMProbe",
                            {
                                allocatable<Probe>(),
                                method<&Probe::plain>("plain"),
                                method<&Probe::everything>("a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:"),
                                method<&Probe::large>("largeFrom:scale:"),
                                method<&Probe::mixed>("mixed:"),
                                method<&Probe::single>("single:"),
                                method<&Probe::truth>("truth:"),
                                method<&free_function>("plus:"),
                                method<&overridden_below>("overridden"),
                                class_method<&of_the_class>("triple:"),
                                property<&Probe::value>("value", "setValue:"),
                                method<&numbered<0>>("n0"),
                                method<&numbered<1>>("n1"),
                                method<&numbered<2>>("n2"),
                                method<&numbered<3>>("n3"),
                                method<&numbered<4>>("n4"),
                                method<&numbered<5>>("n5"),
                                method<&numbered<6>>("n6"),
                                method<&numbered<7>>("n7"),
                                method<&numbered<8>>("n8"),
                                method<&numbered<9>>("n9"),
                                method<&numbered<10>>("n10"),
                                method<&numbered<11>>("n11"),
                            });
        define_class<Derived, Probe>("SMDerivedProbe",
                                     {
                                         allocatable<Derived>(),
                                         method<&Derived::doubled>("doubled"),
                                         method<&Derived::overridden>("overridden"),
                                     });
        return true;
    }();
    static_cast<void>(once);
}

class Message : public testing::Test {
  protected:
    Message() {
        define_probes();
        probe = message<void*>(message<void*>(objc_lookUpClass("SMProbe"), "alloc"), "init");
    }
    ~Message() override { message<void>(probe, "release"); }
    void* probe;
};
using MessageDeathTest = Message;

TEST_F(Message, PassesArgumentsInEveryRegisterAndOnTheStack) {
    const double got =
        message<double>(probe, "a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:", 1, uint64_t{2}, short{3}, true,
                        0.5, 0.25f, 1., 2., 3., 4., 5., 6., 7., uint64_t{8}, Large{100, 200, 300});
    EXPECT_EQ(got, 1 + 20 + 300 + 1000 + 0.75 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 600);
}

TEST_F(Message, ReturnsEveryKindOfResult) {
    EXPECT_EQ(message<int>(probe, "plain"), 7);
    EXPECT_EQ(message<float>(probe, "single:", 1.25f), 1.75f);
    EXPECT_FALSE(message<bool>(probe, "truth:", true));
    const auto mixed = message<Mixed>(probe, "mixed:", 2.5);
    EXPECT_EQ(mixed.x, 2.5);
    EXPECT_EQ(mixed.n, 7u);
    const auto large = message<Large>(probe, "largeFrom:scale:", uint64_t{5}, 10.);
    EXPECT_EQ(large.a, 50u);
    EXPECT_EQ(large.b, 60u);
    EXPECT_EQ(large.c, 70u);
}

TEST_F(Message, ToNilAnswersZero) {
    EXPECT_EQ(message<int>(nullptr, "plain"), 0);
    EXPECT_EQ(message<void*>(nullptr, "description"), nullptr);
    EXPECT_EQ(message<double>(nullptr, "doubleValue"), 0.0);
    EXPECT_EQ(message<float>(nullptr, "single:", 3.f), 0.f);
    const auto mixed = message<Mixed>(nullptr, "mixed:", 2.5);
    EXPECT_EQ(mixed.x, 0.0);
    EXPECT_EQ(mixed.n, 0u);
}

#if defined(__x86_64__)
TEST_F(Message, ToNilLeavesTheMemoryOfALargeResultAlone) {
    Large result = {1, 2, 3};
    auto* const send = reinterpret_cast<Large* (*)(Large*, const void*, SEL)>(&objc_msgSend_stret);
    EXPECT_EQ(send(&result, nullptr, sel_registerName("large")), &result);
    EXPECT_EQ(result.a, 1u);
    EXPECT_EQ(result.c, 3u);
}
#endif

TEST_F(Message, ReachesFunctionsPropertiesAndClassMethods) {
    EXPECT_EQ(message<int>(probe, "plus:", 5), 12);
    message<void>(probe, "setValue:", 40);
    EXPECT_EQ(message<int>(probe, "value"), 40);
    EXPECT_EQ(message<int>(objc_lookUpClass("SMProbe"), "triple:", 5), 15);
}

TEST_F(Message, FindsEachOfManyMethods) {
    const char* names[] = {"n0", "n1", "n2", "n3", "n4",  "n5",
                           "n6", "n7", "n8", "n9", "n10", "n11"};
    for (int i = 0; i < 12; ++i) EXPECT_EQ(message<int>(probe, names[i]), i);
}

TEST_F(Message, IsInheritedAndOverridden) {
    void* derived = message<void*>(objc_lookUpClass("SMDerivedProbe"), "new");
    EXPECT_EQ(message<int>(derived, "doubled"), 14);
    EXPECT_EQ(message<int>(derived, "plain"), 7);
    EXPECT_EQ(message<int>(derived, "overridden"), -1);
    EXPECT_EQ(message<int>(probe, "overridden"), 1);
    EXPECT_EQ(message<int>(objc_lookUpClass("SMDerivedProbe"), "triple:", 2), 6);
    EXPECT_TRUE(message<bool>(derived, "isKindOfClass:", objc_lookUpClass("SMProbe")));
    EXPECT_FALSE(message<bool>(probe, "isKindOfClass:", objc_lookUpClass("SMDerivedProbe")));
    EXPECT_EQ(class_getSuperclass(objc_lookUpClass("SMDerivedProbe")), objc_lookUpClass("SMProbe"));
    EXPECT_EQ(message<void*>(derived, "class"),
              static_cast<void*>(objc_lookUpClass("SMDerivedProbe")));
    message<void>(derived, "release");
}

TEST_F(Message, IsAskedForBeforeItIsSent) {
    const auto responds = [&](const void* receiver, const char* selector) {
        const bool says =
            message<bool>(receiver, "respondsToSelector:", sel_registerName(selector));
        const bool signature =
            message<void*>(receiver, "methodSignatureForSelector:", sel_registerName(selector));
        EXPECT_EQ(says, signature);
        return says;
    };
    EXPECT_TRUE(responds(probe, "plain"));
    EXPECT_TRUE(responds(probe, "retain"));
    EXPECT_FALSE(responds(probe, "doubled"));
    EXPECT_FALSE(responds(probe, "triple:"));
    EXPECT_TRUE(responds(objc_lookUpClass("SMProbe"), "triple:"));
    EXPECT_FALSE(responds(objc_lookUpClass("SMProbe"), "plain"));
}

TEST_F(Message, IsSentFromManyThreadsAtOnce) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            const std::string name = "selector" + std::to_string(t);
            for (int i = 0; i < 2000; ++i) {
                EXPECT_EQ(message<int>(probe, "plain"), 7);
                EXPECT_STREQ(sel_getName(sel_registerName(name.c_str())), name.c_str());
                message<void*>(probe, "retain");
                message<void>(probe, "release");
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(message<uintptr_t>(probe, "retainCount"), 1u);
}

TEST_F(Message, SelectorsAreOnePerName) {
    EXPECT_EQ(sel_registerName("some:selector:"),
              sel_registerName(std::string("some:selector:").c_str()));
    EXPECT_NE(sel_registerName("some:"), sel_registerName("some"));
}

TEST_F(Message, RootDescribesAnObject) {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    auto* object = static_cast<NS::Object*>(probe);
    char expected[64];
    std::snprintf(expected, sizeof(expected), "<SMProbe: %p>", probe);
    EXPECT_STREQ(object->description()->utf8String(), expected);
    EXPECT_STREQ(object->debugDescription()->utf8String(), expected);
    EXPECT_TRUE(object->isEqual(object));
    EXPECT_FALSE(object->isEqual(MTLSTR("other")));
    EXPECT_STREQ(object_getClassName(static_cast<id>(probe)), "SMProbe");
    pool->release();
}

TEST_F(MessageDeathTest, ThatNobodyAnswersStopsByName) {
    EXPECT_DEATH(message<int>(probe, "notThere:", 1),
                 "softmetal: -\\[SMProbe notThere:\\] is not implemented");
    EXPECT_DEATH(message<double>(probe, "notThereEither"),
                 "-\\[SMProbe notThereEither\\] is not implemented");
    EXPECT_DEATH(message<Large>(probe, "notLarge"), "-\\[SMProbe notLarge\\] is not implemented");
    EXPECT_DEATH(message<int>(objc_lookUpClass("SMProbe"), "plain"),
                 "\\+\\[SMProbe plain\\] is not implemented");
    EXPECT_DEATH(message<void*>(objc_lookUpClass("NSProcessInfo"), "alloc"),
                 "\\+\\[NSProcessInfo alloc\\] is not implemented");
}

TEST_F(MessageDeathTest, ToAClassThatSoftmetalLacksStopsByName) {
    EXPECT_DEATH(NS::NotificationCenter::defaultCenter(),
                 "NSNotificationCenter is not implemented .*defaultCenter");
    EXPECT_DEATH(message<void*>(objc_lookUpClass("MTLNoSuchDescriptor"), "alloc"),
                 "MTLNoSuchDescriptor is not implemented .*alloc");
    EXPECT_EQ(objc_lookUpClass("SomebodyElses"), nullptr);
}

}  // namespace
