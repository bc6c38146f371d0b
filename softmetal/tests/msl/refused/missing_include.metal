#include "nowhere.h"  // error: 'nowhere.h' file not found
kernel void f() {}
