#include "genome/geometry.h"

static axis_geometry axis_between(uint32_t source, uint32_t target, const genome_config *rules) {
    if (rules->same3 && source == target) return (axis_geometry){3, 1, 1};
    if (rules->stride2 && target == source / 2 + source % 2 && target < source)
        return (axis_geometry){3, 2, 1};
    if (source >= target) return (axis_geometry){source - target + 1, 1, 0};
    const uint32_t padding = (target - source + 1) / 2;
    return (axis_geometry){source + 2 * padding - target + 1, 1, padding};
}

geometry geometry_between(map_size source, map_size target, const genome_config *rules) {
    return (geometry){axis_between(source.height, target.height, rules),
                      axis_between(source.width, target.width, rules)};
}

static bool axis_fits(axis_geometry a, uint32_t source, uint32_t target) {
    const uint64_t padded = (uint64_t)source + 2 * (uint64_t)a.padding;
    return a.kernel >= 1 && a.stride >= 1 && padded >= a.kernel &&
           (padded - a.kernel) / a.stride + 1 == target;
}

bool geometry_fits(geometry g, map_size source, map_size target) {
    return axis_fits(g.rows, source.height, target.height) &&
           axis_fits(g.columns, source.width, target.width);
}

uint32_t geometry_largest_kernel(geometry g) {
    return g.rows.kernel > g.columns.kernel ? g.rows.kernel : g.columns.kernel;
}

bool map_size_equals(map_size a, map_size b) {
    return a.channels == b.channels && a.height == b.height && a.width == b.width;
}
