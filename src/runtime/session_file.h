#pragma once
// What an engine has evaluated, on disk: every sequence's cells, tokens and bookkeeping, and bytes
// of the host that mean nothing here (docs/sessions.md).
//
// A save that fails or is killed leaves the file that was there before. A file is verified from the
// first byte to the last before anything of it is used; cells go through a buffer of about a MiB.

#include <filesystem>
#include <map>
#include <span>
#include <vector>

#include "base/atomic_file.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "model/model.h"
#include "runtime/kv_cache.h"
#include "runtime/session_format.h"

namespace minfer {

// Of a model's cache. Reads pages of every weight: to be asked for once.
SessionShape session_shape(const Model& model, const KvCache& cache);

// Errors begin with the path. BadInput: more sequences or bytes of the host than a session can
// hold. `options` are for tests of the writing.
Result<> save_session(const std::filesystem::path& path, KvCache& cache, const SessionShape& shape,
                      std::span<const std::byte> host, AtomicFile::Options options = {});

class SavedSession {
  public:
    // Reads and verifies all of it. Errors begin with the path: NotFound, Io, Unsupported for
    // another version, and BadInput for everything that is wrong with it or does not fit this run,
    // naming what it is. Nothing has happened then.
    static Result<SavedSession> open(const std::filesystem::path& path, const SessionShape& run);
    // The same of a file that is open; errors without its name.
    static Result<SavedSession> verify(RegularFile file, const SessionShape& run);

    const KvStore& store() const { return sequences_.store; }
    const std::map<SeqId, KvTokens>& tokens() const { return sequences_.tokens; }
    std::span<const std::byte> host() const { return host_; }

    // Puts it in the place of whatever `cache`, of the shape that was given, held. After an error,
    // of a device or because the file has changed meanwhile, the cache is empty.
    Result<> load_into(KvCache& cache) const;

  private:
    explicit SavedSession(RegularFile file) : file_(std::move(file)) {}
    Result<> verify_all(const SessionShape& run);
    Result<> load_cells(KvCache& cache) const;

    RegularFile file_;
    SessionHeader header_;
    uint64_t sum_ = 0;
    SessionSequences sequences_{.store = KvStore(0), .tokens = {}};
    std::vector<std::byte> host_;
};

}  // namespace minfer
