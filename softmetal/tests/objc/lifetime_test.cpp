// Reference counts, autorelease pools, blocks, and what is noticed when they are used wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Foundation/Foundation.hpp>
#include <string>
#include <thread>

#include "softmetal/control.h"
#include "softmetal/objc/block.h"
#include "softmetal/tests/objc/probe.h"

namespace {

NS::String* made(const char* text = "made") {
    return NS::String::alloc()->init(text, NS::UTF8StringEncoding);
}

uint64_t live(const char* class_name) {
    for (const auto& entry : softmetal::live_objects()) {
        if (entry.class_name == class_name) return entry.count;
    }
    return 0;
}

TEST(Lifetime, CountsReferences) {
    NS::String* string = made();
    EXPECT_EQ(string->retainCount(), 1u);
    EXPECT_EQ(string->retain(), string);
    EXPECT_EQ(string->retainCount(), 2u);
    string->release();
    EXPECT_EQ(string->retainCount(), 1u);
    string->release();
}

TEST(Lifetime, SharedPointersOwnOneReference) {
    const uint64_t before = live("NSString");
    {
        NS::SharedPtr<NS::String> owner = NS::TransferPtr(made());
        const NS::SharedPtr<NS::String> second = owner;
        const NS::SharedPtr<NS::String> third = NS::RetainPtr(owner.get());
        EXPECT_EQ(owner->retainCount(), 3u);
        EXPECT_EQ(live("NSString"), before + 1);
    }
    EXPECT_EQ(live("NSString"), before);
}

TEST(Lifetime, LeaksShowInTheLiveCounts) {
    const uint64_t strings = live("NSString"), arrays = live("NSArray");
    NS::String* string = made();
    NS::Array* array = NS::Array::alloc()->init();
    EXPECT_EQ(live("NSString"), strings + 1);
    EXPECT_EQ(live("NSArray"), arrays + 1);
    string->release();
    EXPECT_EQ(live("NSString"), strings);
    array->release();
    EXPECT_EQ(live("NSArray"), arrays);
}

TEST(Lifetime, SingletonsAreNoLeaks) {
    NS::ProcessInfo::processInfo();
    NS::Bundle::mainBundle();
    EXPECT_EQ(live("NSProcessInfo"), 0u);
    EXPECT_EQ(live("NSBundle"), 0u);
}

TEST(LifetimeDeathTest, AReleaseTooManyNamesTheClass) {
    NS::String* string = made();
    string->release();
    EXPECT_DEATH(string->release(), "softmetal: message 'release' to a released NSString");
    EXPECT_DEATH(static_cast<void>(string->length()), "message 'length' to a released NSString");
    EXPECT_DEATH(string->retain(), "message 'retain' to a released NSString");
    EXPECT_DEATH(softmetal::objc::release(reinterpret_cast<softmetal::objc::Object*>(string)),
                 "release of a released NSString");
}

TEST(LifetimeDeathTest, APoolReleasesWhatWasReleasedAlready) {
    EXPECT_DEATH(
        {
            auto* pool = NS::AutoreleasePool::alloc()->init();
            NS::String* string = NS::String::string("x", NS::UTF8StringEncoding);
            string->release();
            pool->release();
        },
        "release of a released NSString");
}

TEST(Lifetime, AnObjectThatGoesIsNotRetained) {
    NS::String* string = made();
    auto* object = reinterpret_cast<softmetal::objc::Object*>(string);
    {
        const auto held = softmetal::objc::try_retain(object);
        EXPECT_EQ(held.get(), object);
        EXPECT_EQ(string->retainCount(), 2u);
    }
    string->release();
    EXPECT_FALSE(softmetal::objc::try_retain(object));
}

TEST(Lifetime, ManyDeadObjectsAreForgotten) {
    // Far more than are kept for recognition; the sanitizers would see a wrong free.
    for (int i = 0; i < 20000; ++i) made()->release();
}

TEST(Pool, KeepsObjectsUntilItIsDrained) {
    const uint64_t before = live("NSString");
    auto* pool = NS::AutoreleasePool::alloc()->init();
    NS::String* string = made()->autorelease();
    NS::String::string("another", NS::UTF8StringEncoding);
    EXPECT_EQ(string->retainCount(), 1u);
    EXPECT_EQ(live("NSString"), before + 2);
    pool->drain();
    EXPECT_EQ(live("NSString"), before);
}

TEST(Pool, NestsAndEndsInnerPools) {
    const uint64_t before = live("NSString");
    auto* outer = NS::AutoreleasePool::alloc()->init();
    made()->autorelease();
    auto* inner = NS::AutoreleasePool::alloc()->init();
    made()->autorelease();
    EXPECT_EQ(live("NSString"), before + 2);
    inner->release();
    EXPECT_EQ(live("NSString"), before + 1);
    outer->release();
    EXPECT_EQ(live("NSString"), before);
}

TEST(Pool, TakesObjectsForAnOuterPool) {
    const uint64_t before = live("NSString");
    auto* outer = NS::AutoreleasePool::alloc()->init();
    auto* inner = NS::AutoreleasePool::alloc()->init();
    outer->addObject(made());
    inner->addObject(made());
    inner->release();
    EXPECT_EQ(live("NSString"), before + 1);
    outer->release();
    EXPECT_EQ(live("NSString"), before);
}

TEST(Pool, IsDrainedWhenItsThreadEnds) {
    const uint64_t before = live("NSString");
    std::thread([] {
        objc_autoreleasePoolPush();
        made()->autorelease();
    }).join();
    EXPECT_EQ(live("NSString"), before);
}

TEST(Pool, BelongsToItsThread) {
    const uint64_t before = live("NSString");
    auto* pool = NS::AutoreleasePool::alloc()->init();
    made()->autorelease();
    std::thread([] {
        auto* own = NS::AutoreleasePool::alloc()->init();
        made()->autorelease();
        own->release();
    }).join();
    EXPECT_EQ(live("NSString"), before + 1);
    pool->release();
    EXPECT_EQ(live("NSString"), before);
}

TEST(PoolDeathTest, MissingLeaksAndSaysSoOnce) {
    EXPECT_EXIT(
        {
            made()->autorelease();
            made()->autorelease();
            made()->autorelease();
            _exit(live("NSString") == 3 ? 0 : 1);
        },
        testing::ExitedWithCode(0),
        testing::AllOf(
            testing::HasSubstr("without an autorelease pool"),
            testing::Not(testing::ContainsRegex("pool and leaks[^\n]*\n.*pool and leaks"))));
}

TEST(PoolDeathTest, DrainedTwiceStops) {
    EXPECT_DEATH(
        {
            void* pool = objc_autoreleasePoolPush();
            objc_autoreleasePoolPop(pool);
            objc_autoreleasePoolPop(pool);
        },
        "autorelease pool was drained twice");
    EXPECT_DEATH(NS::AutoreleasePool::alloc()->init()->retain(),
                 "NSAutoreleasePool cannot be retained");
}

TEST(Block, KeepsWhatItCaptured) {
    softmetal::objc::Block<int(int)> kept;
    EXPECT_FALSE(kept);
    const auto text = std::make_shared<std::string>("abc");
    {
        __block std::shared_ptr<std::string> captured = text;
        int (^const on_stack)(int) = ^(int add) {
          return static_cast<int>(captured->size()) + add;
        };
        kept = softmetal::objc::Block<int(int)>(on_stack);
    }
    EXPECT_EQ(kept(4), 7);
    softmetal::objc::Block<int(int)> copy = kept;
    kept = {};
    EXPECT_EQ(copy(1), 4);
    EXPECT_EQ(text.use_count(), 2);
    copy = {};
    EXPECT_EQ(text.use_count(), 1);
}

}  // namespace
