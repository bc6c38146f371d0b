#pragma once
// A file that appears under its name whole or not at all, whenever the program or the machine
// stops: written under another name in the same folder, flushed to disk, and renamed.
//
// A process that is killed may leave a FILE.XXXXXX behind; nobody reads it, and it is in nobody's
// way.

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace minfer {

mode_t new_file_mode();  // of a file that is made without further thought: 0666 less the umask

class AtomicFile {
  public:
    // What touches the disk, in this order; Write as often as write() is called.
    enum class Step : uint8_t { Create, Write, SyncFile, Rename, SyncFolder };
    struct Options {
        mode_t mode = 0600;  // of the file under its name; before that it is 0600
        // Called before each step; an error is taken for one of the step itself. For tests.
        std::function<Result<>(Step)> before_step;
    };

    // Replaces what a symbolic link points to, not the link. Io: the folder does not take new
    // files, or `path` is something else than a regular file.
    static Result<AtomicFile> create(const std::filesystem::path& path, Options options);

    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    // Without commit(), or after an error, nothing is left of it.
    ~AtomicFile();

    // After an error nothing more can be written.
    Result<> write(std::span<const std::byte> bytes);
    // Once, after everything is written. An error leaves what was there before; only when flushing
    // the folder fails, and the message says so, the new file is there already.
    Result<> commit();

  private:
    AtomicFile(std::filesystem::path place, Options options)
        : place_(std::move(place)), options_(std::move(options)) {}
    Result<> start();
    // One step: `action` gives 0, or -1 and errno. An error is named `otherwise` and ends it all.
    Result<> run(Step step, std::string_view otherwise, const std::function<int()>& action);
    void discard();

    std::filesystem::path place_;  // what is replaced
    Options options_;
    Descriptor folder_, file_;
    std::string temporary_;  // empty once there is none
};

}  // namespace minfer
