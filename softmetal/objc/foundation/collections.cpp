#include "softmetal/objc/foundation/collections.h"

#include <algorithm>
#include <string>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::objc {
namespace {

void require(const Object* object, const char* method) {
    if (!object) stop("%s with a nil object", method);
}

std::string description_of(const Object* object) {
    static const SEL selector = intern("description");
    return std::string(text_of(send<Object*>(object, selector)));
}

// ---- Enumerators --------------------------------------------------------------------------------

// Keeps what it enumerates, so the collection may go meanwhile.
struct Enumerator : Object {
    std::vector<Ref<Object>> items;
    size_t next = 0;

    explicit Enumerator(std::vector<Ref<Object>> all) : items(std::move(all)) {}
    Object* next_object() { return next < items.size() ? items[next++].get() : nullptr; }
    Object* all_objects() {
        const auto first = items.begin() + static_cast<ptrdiff_t>(next);
        next = items.size();
        return autoreleased(make<Array>(std::vector(first, items.end())));
    }
};

// NS::FastEnumerationState: `state` counts what was handed out, and is 0 at the start.
struct FastState {
    unsigned long state;
    Object** items;
    unsigned long* mutations;
    unsigned long extra[5];
};
uintptr_t hand_out(FastState* state, Object** buffer, uintptr_t room,
                   const std::vector<Ref<Object>>& items) {
    if (state->state == 0) state->mutations = &state->extra[0];  // nothing here ever changes
    uintptr_t n = 0;
    for (; n < room && state->state < items.size(); ++n) buffer[n] = items[state->state++].get();
    state->items = buffer;
    return n;
}
template <class T>
uintptr_t enumerate(T* self, FastState* state, Object** buffer, uintptr_t room) {
    return hand_out(state, buffer, room, self->items);
}
uintptr_t enumerate_rest(Enumerator* self, FastState* state, Object** buffer, uintptr_t room) {
    if (state->state == 0) state->state = self->next;
    const uintptr_t n = hand_out(state, buffer, room, self->items);
    state->mutations = &state->extra[0];
    self->next = state->state;
    return n;
}

template <class T>
Object* enumerator_of(T* self) {
    return autoreleased(make<Enumerator>(self->items));
}
template <class T>
uintptr_t count_of(T* self) {
    return self->items.size();
}

// ---- NSArray ------------------------------------------------------------------------------------

Array* init_array(Array* self, Object* const* objects, uintptr_t count) {
    for (uintptr_t i = 0; i < count; ++i) {
        require(objects[i], "-[NSArray initWithObjects:count:]");
        self->items.push_back(Ref<Object>::retaining(objects[i]));
    }
    return self;
}
Object* empty_array() { return autoreleased(make<Array>()); }
Object* array_of(Object* const* objects, uintptr_t count) {
    Ref<Array> array = make<Array>();
    init_array(array.get(), objects, count);
    return autoreleased(std::move(array));
}
Object* array_of_one(Object* object) { return array_of(&object, 1); }

Object* object_at(Array* self, uintptr_t index) {
    if (index >= self->items.size()) {
        stop("-[NSArray objectAtIndex:]: index %zu, count %zu", index, self->items.size());
    }
    return self->items[index].get();
}
bool arrays_equal(Array* self, Object* object) {
    const auto* other = as<Array>(object);
    return other && std::ranges::equal(self->items, other->items,
                                       [](auto& a, auto& b) { return Equal()(a.get(), b.get()); });
}
Object* describe_array(Array* self) {
    std::string text = "(";
    for (const auto& item : self->items) {
        if (text.size() > 1) text += ", ";
        text += description_of(item.get());
    }
    return string(text + ")");
}

// ---- NSDictionary -------------------------------------------------------------------------------

Dictionary* init_dictionary(Dictionary* self, Object* const* objects, Object* const* keys,
                            uintptr_t count) {
    for (uintptr_t i = 0; i < count; ++i) self->set(keys[i], objects[i]);
    return self;
}
Object* empty_dictionary() { return autoreleased(make<Dictionary>()); }
Object* dictionary_of(Object* const* objects, Object* const* keys, uintptr_t count) {
    Ref<Dictionary> dictionary = make<Dictionary>();
    init_dictionary(dictionary.get(), objects, keys, count);
    return autoreleased(std::move(dictionary));
}
Object* dictionary_of_one(Object* object, Object* key) { return dictionary_of(&object, &key, 1); }

uintptr_t count_entries(Dictionary* self) { return self->entries.size(); }
Object* object_for_key(Dictionary* self, Object* key) { return self->find(key); }
std::vector<Ref<Object>> keys_of(Dictionary* self) {
    std::vector<Ref<Object>> keys;
    for (const auto& entry : self->entries) keys.push_back(entry.first);
    return keys;
}
Object* key_enumerator(Dictionary* self) { return autoreleased(make<Enumerator>(keys_of(self))); }
uintptr_t enumerate_keys(Dictionary* self, FastState* state, Object** buffer, uintptr_t room) {
    return hand_out(state, buffer, room, keys_of(self));
}
bool dictionaries_equal(Dictionary* self, Object* object) {
    const auto* other = as<Dictionary>(object);
    if (!other || other->entries.size() != self->entries.size()) return false;
    return std::ranges::all_of(self->entries, [&](auto& entry) {
        const Object* theirs = other->find(entry.first.get());
        return theirs && Equal()(entry.second.get(), theirs);
    });
}
Object* describe_dictionary(Dictionary* self) {
    std::string text = "{";
    for (const auto& [key, value] : self->entries) {
        if (text.size() > 1) text += "; ";
        text += description_of(key.get()) + " = " + description_of(value.get());
    }
    return string(text + "}");
}

// ---- NSSet --------------------------------------------------------------------------------------

Set* init_set(Set* self, Object* const* objects, uintptr_t count) {
    for (uintptr_t i = 0; i < count; ++i) self->insert(objects[i]);
    return self;
}
bool sets_equal(Set* self, Object* object) {
    const auto* other = as<Set>(object);
    if (!other || other->items.size() != self->items.size()) return false;
    return std::ranges::all_of(self->items,
                               [&](auto& item) { return other->index_of.contains(item.get()); });
}

// ---- Of all of them -----------------------------------------------------------------------------

// Equal collections have equal counts.
uintptr_t hash_by_count(Object* self) {
    static const SEL selector = intern("count");
    return send<uintptr_t>(self, selector);
}
Object* copy(Object* self) {
    retain(self);
    return self;
}

}  // namespace

size_t HashOf::operator()(const Object* object) const {
    static const SEL selector = intern("hash");
    return send<uintptr_t>(object, selector);
}
bool Equal::operator()(const Object* a, const Object* b) const {
    static const SEL selector = intern("isEqual:");
    return a == b || send<bool>(a, selector, b);
}

Object* Dictionary::find(const Object* key) const {
    if (!key) return nullptr;
    const auto found = index_of.find(key);
    return found == index_of.end() ? nullptr : entries[found->second].second.get();
}

void Dictionary::set(Object* key, Object* value) {
    require(key, "-[NSDictionary initWithObjects:forKeys:count:]");
    require(value, "-[NSDictionary initWithObjects:forKeys:count:]");
    if (const auto found = index_of.find(key); found != index_of.end()) {
        entries[found->second].second = Ref<Object>::retaining(value);
        return;
    }
    Ref<Object> kept = copy_of(key);
    index_of.emplace(kept.get(), entries.size());
    entries.emplace_back(std::move(kept), Ref<Object>::retaining(value));
}

void Set::insert(Object* object) {
    require(object, "-[NSSet initWithObjects:count:]");
    if (!index_of.emplace(object, items.size()).second) return;
    items.push_back(Ref<Object>::retaining(object));
}

Ref<Dictionary> make_dictionary(std::initializer_list<std::pair<Object*, Object*>> entries) {
    Ref<Dictionary> dictionary = make<Dictionary>();
    for (const auto& [key, value] : entries) dictionary->set(key, value);
    return dictionary;
}

void register_collections() {
    define_class<Enumerator>(
        "NSEnumerator", {
                            method<&Enumerator::next_object>("nextObject"),
                            method<&Enumerator::all_objects>("allObjects"),
                            method<&enumerate_rest>("countByEnumeratingWithState:objects:count:"),
                        });
    define_class<Array>("NSArray",
                        {
                            allocatable<Array>(),
                            class_method<&empty_array>("array"),
                            class_method<&array_of_one>("arrayWithObject:"),
                            class_method<&array_of>("arrayWithObjects:count:"),
                            method<&init_array>("initWithObjects:count:"),
                            method<&object_at>("objectAtIndex:"),
                            method<&count_of<Array>>("count"),
                            method<&enumerator_of<Array>>("objectEnumerator"),
                            method<&enumerate<Array>>("countByEnumeratingWithState:objects:count:"),
                            method<&arrays_equal>("isEqual:"),
                            method<&hash_by_count>("hash"),
                            method<&describe_array>("description"),
                            method<&copy>("copy"),
                        });
    define_class<Dictionary>(
        "NSDictionary", {
                            allocatable<Dictionary>(),
                            class_method<&empty_dictionary>("dictionary"),
                            class_method<&dictionary_of_one>("dictionaryWithObject:forKey:"),
                            class_method<&dictionary_of>("dictionaryWithObjects:forKeys:count:"),
                            method<&init_dictionary>("initWithObjects:forKeys:count:"),
                            method<&object_for_key>("objectForKey:"),
                            method<&count_entries>("count"),
                            method<&key_enumerator>("keyEnumerator"),
                            method<&enumerate_keys>("countByEnumeratingWithState:objects:count:"),
                            method<&dictionaries_equal>("isEqual:"),
                            method<&hash_by_count>("hash"),
                            method<&describe_dictionary>("description"),
                            method<&copy>("copy"),
                        });
    define_class<Set>("NSSet",
                      {
                          allocatable<Set>(),
                          method<&init_set>("initWithObjects:count:"),
                          method<&count_of<Set>>("count"),
                          method<&enumerator_of<Set>>("objectEnumerator"),
                          method<&enumerate<Set>>("countByEnumeratingWithState:objects:count:"),
                          method<&sets_equal>("isEqual:"),
                          method<&hash_by_count>("hash"),
                          method<&copy>("copy"),
                      });
}

}  // namespace softmetal::objc
