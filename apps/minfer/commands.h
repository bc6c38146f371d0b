#pragma once
// One function per command: the arguments after the command's name in, the exit code out.

#include <span>
#include <string>

#include "console.h"

namespace minfer {

using Args = std::span<const std::string>;

int run_command(Console& console, Args args);
int bench_command(Console& console, Args args);
int info_command(Console& console, Args args);
int graph_command(Console& console, Args args);
int trace_command(Console& console, Args args);
int tokenize_command(Console& console, Args args);

}  // namespace minfer
