// The Foundation classes, in the order in which they can be defined.
#pragma once

namespace softmetal::objc {

void register_foundation_classes();

void register_root();    // NSObject, NSMethodSignature
void register_pool();    // NSAutoreleasePool
void register_string();  // NSString and the class of compiled string constants

}  // namespace softmetal::objc
