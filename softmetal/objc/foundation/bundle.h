// NSBundle: a folder with a program and its files. A program that is no application, as all are
// here, has the folder it lies in for its main bundle.
#pragma once

#include <filesystem>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

struct Bundle : Object {
    std::filesystem::path folder;

    std::filesystem::path resources() const;  // Contents/Resources where there is one
};

Bundle* main_bundle();

}  // namespace softmetal::objc
