// The Foundation classes, in the order in which they can be defined.
#pragma once

namespace softmetal::objc {

void register_foundation_classes();

void register_root();    // NSObject, NSMethodSignature
void register_pool();    // NSAutoreleasePool
void register_string();  // NSString and the class of compiled string constants
void register_collections();
void register_error();
void register_url();
void register_number();  // NSValue, NSNumber
void register_data();
void register_condition();  // NSCondition, NSDate
void register_process_info();
void register_bundle();
void register_dispatch_data();
void register_dispatch_queue();

}  // namespace softmetal::objc
