// <metal_geometric>. Sums are taken in float, lanes in order.
#pragma once

namespace metal {
namespace sm {
template <class V>
SM_FN float dot_float(V x, V y) {
    auto product = to_float(x) * to_float(y);
    float sum = product[0];
    for (int i = 1; i < shape<V>::lanes; i++) sum += product[i];
    return sum;
}
}  // namespace sm

template <class A, class B>
    requires(sm::shape<sm::float2_of<A, B>>::lanes > 0)
SM_FN sm::element_of_t<sm::value2<A, B>> dot(A x, B y) {
    typedef sm::value2<A, B> V;
    return static_cast<sm::element_of_t<V>>(sm::dot_float<V>(x, y));
}
template <class A, class B>
    requires(sm::shape<sm::float2_of<A, B>>::lanes == 3)
SM_FN sm::value2<A, B> cross(A a, B b) {
    typedef sm::value2<A, B> V;
    V x = a, y = b;
    auto p = sm::to_float(x), q = sm::to_float(y);
    return sm::from_float<V>(p.yzx * q.zxy - p.zxy * q.yzx);
}
template <class A>
    requires(sm::shape<sm::float1<A>>::lanes > 0)
SM_FN sm::element_of_t<A> length_squared(A x) {
    return metal::dot(x, x);
}
template <class A>
    requires(sm::shape<sm::float1<A>>::lanes > 0)
SM_FN sm::element_of_t<A> length(A x) {
    typedef sm::value_of<A> V;
    return static_cast<sm::element_of_t<V>>(sm::square_root(sm::dot_float<V>(x, x)));
}
template <class A, class B>
SM_FN auto distance_squared(A x, B y) {
    typedef sm::value2<A, B> V;
    return metal::length_squared(V(x) - V(y));
}
template <class A, class B>
SM_FN auto distance(A x, B y) {
    typedef sm::value2<A, B> V;
    return metal::length(V(x) - V(y));
}
template <class A>
    requires(sm::shape<sm::float1<A>>::lanes > 0)
SM_FN sm::value_of<A> normalize(A x) {
    typedef sm::value_of<A> V;
    return sm::from_float<V>(sm::to_float<V>(x) * (1.0f / sm::square_root(sm::dot_float<V>(x, x))));
}
// n where dot(incident, reference) is negative, -n elsewhere.
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> faceforward(A n, B incident, C reference) {
    typedef sm::value3<A, B, C> V;
    return sm::dot_float<V>(incident, reference) < 0.0f ? V(n) : -V(n);
}
template <class A, class B>
SM_FN sm::float2_of<A, B> reflect(A incident, B normal) {
    typedef sm::value2<A, B> V;
    auto i = sm::to_float<V>(incident), n = sm::to_float<V>(normal);
    return sm::from_float<V>(i - n * (2.0f * sm::dot_float<V>(normal, incident)));
}
template <class A, class B>
SM_FN sm::float2_of<A, B> refract(A incident, B normal, sm::element_of_t<sm::value2<A, B>> ratio) {
    typedef sm::value2<A, B> V;
    auto i = sm::to_float<V>(incident), n = sm::to_float<V>(normal);
    float eta = static_cast<float>(ratio), cosine = sm::dot_float<V>(normal, incident);
    float k = 1.0f - eta * eta * (1.0f - cosine * cosine);
    if (k < 0.0f) return V(0.0f);
    return sm::from_float<V>(i * eta - n * (eta * cosine + sm::square_root(k)));
}

}  // namespace metal
