#include "gguf/reader.h"

#include <utility>

#include "base/printable.h"
#include "gguf/header.h"
#include "gguf/split.h"

namespace minfer::gguf {
namespace {

// What the keys of part `index` (from 0) must say.
Result<> check_split_keys(const Metadata& metadata, uint32_t index, uint32_t count) {
    const auto number = MINFER_TRY(metadata.get_uint("split.no"));
    if (number != index)
        return fail(Fault::BadInput, "key 'split.no' is {}, the file name says {} (from 0)", number,
                    index);
    const auto parts = MINFER_TRY(metadata.get_uint("split.count"));
    if (parts != count)
        return fail(Fault::BadInput, "key 'split.count' is {}, the file name says {}", parts,
                    count);
    return {};
}

// How many parts the model has, from the name and the keys of its first part. Merging tools leave
// a split.count of 0 in whole files.
Result<uint32_t> count_parts(const std::optional<PartName>& name, const Metadata& metadata) {
    const auto keyed = MINFER_TRY(metadata.get_uint_or("split.count", 1, kMaxParts));
    if (!name) {
        if (keyed > 1)
            return fail(Fault::BadInput,
                        "key 'split.count' is {}, so the file should be named "
                        "STEM-00001-of-{:05}.gguf",
                        keyed, keyed);
        return 1;
    }
    if (name->count <= 1 && keyed <= 1) return 1;
    MINFER_TRY(check_split_keys(metadata, 0, name->count));
    return name->count;
}

}  // namespace

std::string shape_text(const TensorInfo& tensor) {
    std::string text = "[";
    for (uint32_t i = 0; i < tensor.n_dims; ++i)
        text += fmt::format("{}{}", i > 0 ? ", " : "", tensor.shape[i]);
    return text + "]";
}

Result<Metadata> File::add_part(std::span<const std::byte> bytes, size_t part) {
    auto header = MINFER_TRY(read_header(bytes));
    if (part == 0) {
        version_ = header.version;
        alignment_ = header.alignment;
    }
    for (auto& tensor : header.tensors) {
        tensor.part = part;
        const auto [first, fresh] = index_.emplace(tensor.name, tensors_.size());
        if (!fresh) {
            const auto where = tensors_[first->second].part;
            return fail(Fault::BadInput, "tensor {} occurs twice{}, expected once",
                        printable(tensor.name),
                        where == part ? "" : fmt::format(" (also in part {})", where + 1));
        }
        tensors_.push_back(tensor);
    }
    return std::move(header.metadata);
}

Result<File> File::parse(std::span<const std::byte> bytes) {
    File file;
    file.metadata_ = MINFER_TRY(file.add_part(bytes, 0));
    return file;
}

Result<File> File::open(const std::filesystem::path& path) {
    File file;
    const auto add = [&](const std::filesystem::path& part_path) -> Result<Metadata> {
        auto mapped = MINFER_TRY(MappedFile::open(part_path));
        file.parts_.push_back(std::move(mapped));
        auto metadata = file.add_part(file.parts_.back().bytes(), file.parts_.size() - 1);
        if (!metadata) return at(part_path.string(), std::move(metadata).error());
        return metadata;
    };
    const auto name = parse_part_name(path.filename().string());
    if (name && (name->number < 1 || name->number > name->count))
        return fail(Fault::BadInput, "{}: the name says part {} of {}", path.string(), name->number,
                    name->count);
    file.metadata_ = MINFER_TRY(add(path));
    if (name && name->number != 1)
        return fail(Fault::BadInput, "{}: is part {} of {}, name the first: {}", path.string(),
                    name->number, name->count,
                    (path.parent_path() / part_file_name(name->stem, 1, name->count)).string());
    const auto count = count_parts(name, file.metadata_);
    if (!count) return at(path.string(), count.error());
    if (*count == 1) return file;

    for (uint32_t i = 1; i < *count; ++i) {
        const auto part_path = path.parent_path() / part_file_name(name->stem, i + 1, name->count);
        auto metadata = add(part_path);
        if (!metadata) {
            auto error = std::move(metadata).error();
            if (error.fault == Fault::NotFound)
                return at(fmt::format("part {} of {} is missing", i + 1, *count), error);
            return std::unexpected(std::move(error));
        }
        const auto keys = check_split_keys(*metadata, i, *count);
        if (!keys) return at(part_path.string(), keys.error());
    }
    const auto total = file.metadata_.get_uint("split.tensors.count");
    if (!total) return at(path.string(), total.error());
    if (*total != file.tensors_.size())
        return fail(Fault::BadInput, "{}: key 'split.tensors.count' is {}, the {} parts hold {}",
                    path.string(), *total, *count, file.tensors_.size());
    return file;
}

const TensorInfo* File::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace minfer::gguf
