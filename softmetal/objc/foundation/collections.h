// NSArray, NSDictionary, NSSet and their enumerators. All immutable once initialised.
#pragma once

#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

struct Array : Object {
    std::vector<Ref<Object>> items;

    Array() = default;
    explicit Array(std::vector<Ref<Object>> all) : items(std::move(all)) {}
};

// Objects compare with -isEqual: and -hash.
struct HashOf {
    size_t operator()(const Object* object) const;
};
struct Equal {
    bool operator()(const Object* a, const Object* b) const;
};

struct Dictionary : Object {
    std::vector<std::pair<Ref<Object>, Ref<Object>>>
        entries;  // key, value; in the order of insertion
    std::unordered_map<const Object*, size_t, HashOf, Equal> index_of;

    Object* find(const Object* key) const;  // nullptr when there is none
    void set(Object* key, Object* value);   // keeps a copy of the key
};

struct Set : Object {
    std::vector<Ref<Object>> items;
    std::unordered_map<const Object*, size_t, HashOf, Equal> index_of;

    void insert(Object* object);
};

template <class T>
Ref<Array> make_array(const std::vector<Ref<T>>& objects) {
    return make<Array>(std::vector<Ref<Object>>(objects.begin(), objects.end()));
}
Ref<Dictionary> make_dictionary(std::initializer_list<std::pair<Object*, Object*>> entries);

}  // namespace softmetal::objc
