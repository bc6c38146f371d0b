#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/sync_file.h"

namespace minfer {
namespace {

constexpr std::string_view kUnwritten = "cannot be written";

}  // namespace

mode_t new_file_mode() {
    const auto mask = ::umask(0);
    ::umask(mask);
    return static_cast<mode_t>(0666 & ~mask);
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, Options options) {
    auto place = path;
    std::error_code unresolved;
    if (auto whole = std::filesystem::canonical(path, unresolved); !unresolved)
        place = std::move(whole);
    else  // a link to a file that is not there yet, maybe through others
        for (int links = 0; links < 40 && std::filesystem::is_symlink(place, unresolved); ++links)
            place = place.parent_path() / std::filesystem::read_symlink(place, unresolved);
    struct stat existing{};
    if (::stat(place.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
        return fail(Fault::Io, "{}: is {}, expected a regular file or none", path.string(),
                    S_ISDIR(existing.st_mode) ? "a directory" : "a special file");
    auto file = AtomicFile(std::move(place), std::move(options));
    MINFER_TRY(file.start());
    return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : place_(std::move(other.place_)),
      options_(std::move(other.options_)),
      folder_(std::move(other.folder_)),
      file_(std::move(other.file_)),
      temporary_(std::exchange(other.temporary_, {})) {}

AtomicFile::~AtomicFile() { discard(); }

Result<> AtomicFile::start() {
    // The folder first: that it cannot be flushed should not be found out after the renaming.
    auto folder = place_.parent_path();
    if (folder.empty()) folder = ".";
    folder_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (folder_.number() < 0)
        return fail(Fault::Io, "{}: {}: {}", place_.string(), kUnwritten, std::strerror(errno));
    return run(Step::Create, kUnwritten, [&] {
        auto name = place_.string() + ".XXXXXX";
        file_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
        if (file_.number() < 0) return -1;
        temporary_ = std::move(name);
        return 0;
    });
}

Result<> AtomicFile::write(std::span<const std::byte> bytes) {
    return run(Step::Write, kUnwritten, [&] {
        while (!bytes.empty()) {
            const auto written = ::write(file_.number(), bytes.data(), bytes.size());
            if (written < 0 && errno != EINTR) return -1;
            if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
        }
        return 0;
    });
}

Result<> AtomicFile::commit() {
    MINFER_TRY(run(Step::SyncFile, kUnwritten, [&] {
        return ::fchmod(file_.number(), options_.mode) == 0 ? sync_file(file_) : -1;
    }));
    MINFER_TRY(run(Step::Rename, kUnwritten,
                   [&] { return std::rename(temporary_.c_str(), place_.c_str()); }));
    temporary_.clear();
    return run(Step::SyncFolder, "was replaced, but a power failure may bring back the old file",
               [&] {
                   // Some file systems know no such thing.
                   const bool done = sync_file(folder_) == 0 || errno == EINVAL || errno == ENOTSUP;
                   return done ? 0 : -1;
               });
}

Result<> AtomicFile::run(Step step, std::string_view otherwise,
                         const std::function<int()>& action) {
    MINFER_ASSERT(step == Step::Create || file_.number() >= 0);
    Result<> done;
    if (options_.before_step) done = options_.before_step(step);
    if (done && action() != 0) done = fail(Fault::Io, "{}", std::strerror(errno));
    if (done) return {};
    discard();
    return at(fmt::format("{}: {}", place_.string(), otherwise), std::move(done).error());
}

void AtomicFile::discard() {
    file_ = Descriptor();
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

}  // namespace minfer
