// Grand Central Dispatch as far as Metal's interface speaks it: data objects, which libraries are
// made from, and the queues that shared-event listeners are told on.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dispatch_object_s* dispatch_object_t;
typedef struct dispatch_queue_s* dispatch_queue_t;
typedef struct dispatch_queue_attr_s* dispatch_queue_attr_t;
typedef struct dispatch_data_s* dispatch_data_t;
typedef void (*dispatch_function_t)(void*);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#else
typedef void* dispatch_block_t;
#endif

// Objects of any of the types above.
void dispatch_retain(const void* object);
void dispatch_release(const void* object);

// With the default destructor the bytes are copied; with the one called FREE, or a block, they are
// used in place and given back when the last reference goes.
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
#define DISPATCH_DATA_DESTRUCTOR_FREE softmetal_dispatch_data_free()
dispatch_block_t softmetal_dispatch_data_free(void);

dispatch_data_t dispatch_data_create(const void* bytes, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor);
size_t dispatch_data_get_size(dispatch_data_t data);
// A new data object whose bytes lie in one piece at *bytes, while it lives.
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void** bytes, size_t* size);
dispatch_data_t dispatch_data_create_concat(dispatch_data_t first, dispatch_data_t second);
dispatch_data_t dispatch_data_create_subrange(dispatch_data_t data, size_t offset, size_t size);

// A queue that is created runs one block after the other, the global one several at a time, on
// threads of their own.
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t attributes);
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
dispatch_queue_t dispatch_get_main_queue(void);  // to name as an argument: nothing runs on it
const char* dispatch_queue_get_label(dispatch_queue_t queue);
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work);
void dispatch_sync_f(dispatch_queue_t queue, void* context, dispatch_function_t work);

#ifdef __cplusplus
}
#endif
