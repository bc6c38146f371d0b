// Reference counts, autorelease pools, blocks, and what is noticed when they are used wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Block.h>

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

TEST(Block, OwnsTheBlocksItCaptures) {
    const auto text = std::make_shared<std::string>("abc");
    void (^outer)(void) = nullptr;
    int calls = 0;
    int* count = &calls;
    {
        const std::shared_ptr<std::string> captured = text;
        void (^const inner)(void) = ^{
          *count += static_cast<int>(captured->size());
        };
        outer = Block_copy(^{
          inner();
          inner();
        });
    }
    outer();
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(text.use_count(), 2);
    Block_release(outer);
    EXPECT_EQ(text.use_count(), 1);
}

TEST(Block, SharesAVariableWithItsFrame) {
    __block int shared = 1;
    void (^const twice)(void) = ^{
      shared *= 2;
    };
    twice();
    EXPECT_EQ(shared, 2);
    void (^const kept)(void) = Block_copy(twice);  // the variable moves to the heap
    kept();
    twice();
    shared += 1;
    kept();
    EXPECT_EQ(shared, 18);
    Block_release(kept);
    EXPECT_EQ(shared, 18);
}

TEST(Block, KeepsASharedVariableBeyondItsFrame) {
    int (^next)(void) = nullptr;
    {
        __block int count = 10;
        next = Block_copy(^{
          return ++count;
        });
    }
    EXPECT_EQ(next(), 11);
    int (^const again)(void) = Block_copy(next);
    EXPECT_EQ(again, next);
    Block_release(next);
    EXPECT_EQ(again(), 12);
    Block_release(again);
}

TEST(Block, WithoutCapturesNeverMoves) {
    int (^const global)(void) = ^{
      return 5;
    };
    int (^const copy)(void) = Block_copy(global);
    EXPECT_EQ(copy, global);
    Block_release(copy);
    Block_release(copy);
    EXPECT_EQ(global(), 5);
}

TEST(Block, HoldsAVariableOfBlockType) {
    __block int (^step)(int) = nullptr;
    int (^const added)(int) = Block_copy(^(int x) {
      return x + 3;
    });
    step = added;
    int (^const user)(int) = Block_copy(^(int x) {
      return step(x);
    });
    EXPECT_EQ(user(1), 4);
    Block_release(user);
    EXPECT_EQ(step(1), 4);  // not released with the block that used it
    Block_release(added);
}

TEST(Block, IsCalledAndReleasedOnAnotherThread) {
    for (int i = 0; i < 100; ++i) {
        __block const std::shared_ptr<int> value = std::make_shared<int>(i);
        softmetal::objc::Block<int()> block(^{
          return *value;
        });
        std::thread([block = std::move(block), i]() mutable {
            EXPECT_EQ(block(), i);
            block = {};
        }).join();
    }
}

}  // namespace
