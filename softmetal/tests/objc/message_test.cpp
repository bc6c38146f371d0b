#include <gtest/gtest.h>

#include <Foundation/Foundation.hpp>

TEST(Message, ReachesAMethod) {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    auto* s = NS::String::string("hello", NS::UTF8StringEncoding);
    EXPECT_STREQ(s->utf8String(), "hello");
    EXPECT_TRUE(s->isEqualToString(MTLSTR("hello")));
    pool->release();
}
