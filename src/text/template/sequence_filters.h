#pragma once
// The filters that walk their value.

#include "text/template/runtime.h"

namespace minfer::jinja {

Result<Value> first_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> last_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> items_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> list_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> join_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> map_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> reverse_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> select_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> reject_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> selectattr_filter(Runtime& runtime, const Value& self, const Args& args);
Result<Value> rejectattr_filter(Runtime& runtime, const Value& self, const Args& args);

}  // namespace minfer::jinja
