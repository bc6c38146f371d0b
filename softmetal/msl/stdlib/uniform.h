// <metal_uniform>: a value that is the same in all threads. Saying so changes nothing here.
#pragma once

namespace metal {

template <class T>
using uniform = T;
template <class T>
SM_FN constexpr T make_uniform(T x) {
    return x;
}

}  // namespace metal
