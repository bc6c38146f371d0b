#include "graph/op_profile.h"

#include <algorithm>
#include <vector>

#include "graph/registry.h"

namespace minfer {
namespace {

constexpr size_t kRows = 20;
constexpr std::string_view kWait = "(wait)";

std::string_view backend_name(BackendId id) {
    return std::ranges::find(known_backends(), id, &KnownBackend::id)->name;
}

}  // namespace

void OpProfile::begin(const Graph&) { nodes_seconds_ = wait_seconds_ = 0; }

void OpProfile::node(const Node& node, Span ran) {
    auto& row = rows_[{op_name(node.op), *node.backend}];
    ++row.count;
    row.seconds += ran.seconds();
    nodes_seconds_ += ran.seconds();
}

void OpProfile::wait(BackendId backend, size_t, Span waited) {
    auto& row = rows_[{kWait, backend}];
    ++row.count;
    row.seconds += waited.seconds();
    wait_seconds_ += waited.seconds();
}

void OpProfile::end(Span executed) {
    executed_seconds_ += executed.seconds();
    if (++n_executed_ == 1) return say_table();
    say_(fmt::format("step {}: {:.3f} ms, nodes {:.3f} ms, waiting for a device {:.3f} ms",
                     n_executed_, executed.seconds() * 1e3, nodes_seconds_ * 1e3,
                     wait_seconds_ * 1e3));
}

void OpProfile::say_table() const {
    auto rows = std::vector<std::pair<Key, Row>>(rows_.begin(), rows_.end());
    std::ranges::sort(
        rows, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    say_(fmt::format("profile of {} step{}, {:.3f} ms in all", n_executed_,
                     n_executed_ == 1 ? "" : "s", executed_seconds_ * 1e3));
    say_(fmt::format("  {:<14}{:<8}{:>8}{:>12}{:>8}{:>12}", "op", "backend", "count", "ms", "%",
                     "us each"));
    for (size_t i = 0; i < std::min(rows.size(), kRows); ++i) {
        const auto& [key, row] = rows[i];
        say_(fmt::format("  {:<14}{:<8}{:>8}{:>12.3f}{:>8.1f}{:>12.1f}", key.first,
                         backend_name(key.second), row.count, row.seconds * 1e3,
                         executed_seconds_ > 0 ? row.seconds / executed_seconds_ * 100 : 0,
                         row.seconds * 1e6 / static_cast<double>(row.count)));
    }
    if (rows.size() > kRows) say_(fmt::format("  and {} more", rows.size() - kRows));
}

}  // namespace minfer
