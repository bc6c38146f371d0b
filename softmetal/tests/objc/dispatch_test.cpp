// dispatch data and queues. What is tested here holds on a Mac too.
#include <dispatch/dispatch.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string bytes_of(dispatch_data_t data) {
    const void* bytes = nullptr;
    size_t size = 0;
    const dispatch_data_t map = dispatch_data_create_map(data, &bytes, &size);
    std::string result(static_cast<const char*>(bytes), size);
    dispatch_release(map);
    return result;
}

TEST(DispatchData, CopiesByDefault) {
    char bytes[] = "library";
    const dispatch_data_t data =
        dispatch_data_create(bytes, 7, dispatch_get_main_queue(), DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    std::memset(bytes, 'x', 7);
    EXPECT_EQ(dispatch_data_get_size(data), 7u);
    EXPECT_EQ(bytes_of(data), "library");
    dispatch_release(data);
}

TEST(DispatchData, GivesMemoryBackOnce) {
    __block std::atomic<int>* freed = new std::atomic<int>(0);
    static const char bytes[] = "in place";
    const dispatch_data_t data = dispatch_data_create(bytes, 8, nullptr, ^{
      ++*freed;
    });
    const void* mapped = nullptr;
    size_t size = 0;
    const dispatch_data_t map = dispatch_data_create_map(data, &mapped, &size);
    EXPECT_EQ(mapped, bytes);
    dispatch_retain(data);
    dispatch_release(data);
    dispatch_release(data);
    EXPECT_EQ(*freed, 0);
    EXPECT_EQ(std::memcmp(mapped, "in place", size), 0);
    dispatch_release(map);
    while (*freed == 0) std::this_thread::yield();
    EXPECT_EQ(*freed, 1);
    delete freed;
}

TEST(DispatchData, FreesMallocedMemory) {
    void* bytes = std::malloc(3);
    std::memcpy(bytes, "abc", 3);
    const dispatch_data_t data =
        dispatch_data_create(bytes, 3, nullptr, DISPATCH_DATA_DESTRUCTOR_FREE);
    EXPECT_EQ(bytes_of(data), "abc");
    dispatch_release(data);
}

TEST(DispatchData, JoinsAndCuts) {
    const auto make = [](const char* text) {
        return dispatch_data_create(text, std::strlen(text), nullptr,
                                    DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    };
    const dispatch_data_t first = make("abc"), second = make("defg");
    const dispatch_data_t both = dispatch_data_create_concat(first, second);
    dispatch_release(first);
    dispatch_release(second);
    const dispatch_data_t middle = dispatch_data_create_subrange(both, 2, 3);
    const dispatch_data_t tail = dispatch_data_create_subrange(both, 5, 100);
    dispatch_release(both);
    EXPECT_EQ(bytes_of(middle), "cde");
    EXPECT_EQ(bytes_of(tail), "fg");
    dispatch_release(middle);
    dispatch_release(tail);
}

TEST(DispatchQueue, RunsBlocksInOrder) {
    const dispatch_queue_t queue = dispatch_queue_create("order", DISPATCH_QUEUE_SERIAL);
    EXPECT_STREQ(dispatch_queue_get_label(queue), "order");
    std::vector<int> seen;
    std::vector<int>* out = &seen;
    for (int i = 0; i < 100; ++i) {
        dispatch_async(queue, ^{
          out->push_back(i);
        });
    }
    dispatch_sync(queue, ^{
                  });
    ASSERT_EQ(seen.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
    dispatch_release(queue);
}

TEST(DispatchQueue, GlobalRunsBlocksSideBySide) {
    const dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
    std::atomic<int> arrived = 0;
    std::atomic<int>* count = &arrived;
    for (int i = 0; i < 2; ++i) {  // each waits for the other
        dispatch_async(queue, ^{
          ++*count;
          while (*count < 2) std::this_thread::yield();
          ++*count;
        });
    }
    while (arrived < 4) std::this_thread::yield();
}

TEST(DispatchQueue, RunsFunctions) {
    const dispatch_queue_t queue = dispatch_queue_create(nullptr, DISPATCH_QUEUE_SERIAL);
    int value = 0;
    dispatch_async_f(queue, &value, [](void* context) { *static_cast<int*>(context) = 5; });
    dispatch_sync_f(queue, &value, [](void* context) { *static_cast<int*>(context) += 1; });
    EXPECT_EQ(value, 6);
    dispatch_release(queue);
}

}  // namespace
