// What a process has after fork() of one that used Metal: its memory, but none of the threads that
// run the work. Waiting for them would never end, and their locks may be held for ever, so the
// first call that needs them stops the program by name.
#pragma once

namespace softmetal::api {

// From now on children are told apart. Once is enough.
void watch_forks();

// True in a child of a process that watches. Takes no lock.
bool is_forked_child();

// Stops a forked child; `call` is what it tried.
void stop_if_forked(const char* call);

}  // namespace softmetal::api
