// metal-cpp asks which of Apple's systems it is built for. Metal on a desktop is what softmetal
// stands for: with TARGET_OS_OSX metal-cpp offers MTL::CopyAllDevices and the device observers.
#pragma once

#define TARGET_OS_MAC 1
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#define TARGET_OS_IOS 0
#define TARGET_OS_TV 0
#define TARGET_OS_WATCH 0
#define TARGET_OS_VISION 0
#define TARGET_OS_SIMULATOR 0
#define TARGET_OS_MACCATALYST 0

// Without it metal-cpp's MTL::CopyAllDevices finds no devices on any system.
#define __MAC_OS_X_VERSION_MIN_REQUIRED 140000
