// test_memory_limit.c - machines made of small files, and the one we run on.
#include "base/file.h"
#include "base/memory_limit.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

static temp_folder folder;

static void set_up(void) {
    folder = temp_folder_make();
}

static void tear_down(void) {
    temp_folder_remove(&folder);
}

TestSuite(memory_limit, .init = set_up, .fini = tear_down, .timeout = 20);

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    cr_assert_eq(file_make_folders(path, NULL), HOX_OK);
    *slash = '/';
    temp_write(path, text);
}

static void put_in(const char *group, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", group, name);
    put(path, text);
}

static void put_v1(const char *group, const char *limit, const char *usage, const char *stat) {
    put_in(group, "memory.limit_in_bytes", limit);
    put_in(group, "memory.usage_in_bytes", usage);
    put_in(group, "memory.stat", stat);
}

static void put_v2(const char *group, const char *limit, const char *usage, const char *stat) {
    put_in(group, "memory.max", limit);
    put_in(group, "memory.current", usage);
    put_in(group, "memory.stat", stat);
}

enum { MACHINE_TOTAL = 8192000, MACHINE_FREE = 5120000 }; // 8000 kB, 5000 kB

static void put_machine(void) {
    put("proc/meminfo", "MemTotal:        8000 kB\n"
                        "MemFree:         1000 kB\n"
                        "MemAvailable:    5000 kB\n"
                        "Buffers:          200 kB\n"
                        "Cached:           300 kB\n");
}

// Version 2 at its usual place; the process is in group.
static void put_machine_v2(const char *group) {
    char line[256];
    snprintf(line, sizeof line, "0::%s\n", group);
    put_machine();
    put("proc/self/cgroup", line);
    put("proc/self/mountinfo",
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
}

static void expect_limit(uint64_t total, uint64_t left) {
    const memory_limit limit = memory_limit_read(folder.path);
    cr_expect_eq(limit.total_bytes, total, "total: %" PRIu64 " is not %" PRIu64, limit.total_bytes,
                 total);
    cr_expect_eq(limit.free_bytes, left, "free: %" PRIu64 " is not %" PRIu64, limit.free_bytes,
                 left);
}

// ---- the machine ----

Test(memory_limit, is_unknown_where_nothing_can_be_read) {
    expect_limit(0, 0);
}

Test(memory_limit, is_the_machine_where_there_are_no_groups) {
    put_machine();
    expect_limit(MACHINE_TOTAL, MACHINE_FREE);
}

Test(memory_limit, adds_up_what_is_free_on_old_kernels) {
    put("proc/meminfo", "MemTotal:        8000 kB\n"
                        "MemFree:         1000 kB\n"
                        "Buffers:          200 kB\n"
                        "Cached:           300 kB\n"
                        "SwapCached:      4000 kB\n");
    expect_limit(8192000, 1536000); // 1500 kB
}

Test(memory_limit, takes_all_for_free_where_nothing_says_what_is) {
    put("proc/meminfo", "MemTotal: 8000 kB\nBuffers: 200 kB\n");
    expect_limit(8192000, 8192000);
}

Test(memory_limit, is_never_more_free_than_total) {
    put("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 9000 kB\n");
    expect_limit(8192000, 8192000);
}

// ---- version 2 ----

Test(memory_limit, v2_counts_the_limit_of_the_own_group) {
    put_machine_v2("/user.slice/app");
    put_v2(
        "sys/fs/cgroup/user.slice/app", "4000000\n", "3000000\n",
        "anon 2000000\nfile 900000\ninactive_anon 7\nactive_file 400000\ninactive_file 500000\n");
    put_v2("sys/fs/cgroup/user.slice/other", "10\n", "10\n", "inactive_file 0\n");
    expect_limit(4000000, 1500000); // 4000000 - (3000000 - 500000)
}

Test(memory_limit, v2_counts_the_limit_of_a_grandparent) {
    put_machine_v2("/a/b/c");
    put_v2("sys/fs/cgroup/a", "2000000\n", "1200000\n", "inactive_file 0\n");
    put_v2("sys/fs/cgroup/a/b", "max\n", "1100000\n", "inactive_file 0\n");
    put_v2("sys/fs/cgroup/a/b/c", "max\n", "1000000\n", "inactive_file 0\n");
    expect_limit(2000000, 800000);
}

Test(memory_limit, v2_takes_the_least_of_each_over_all_levels) {
    put_machine_v2("/a/b");
    put_v2("sys/fs/cgroup/a", "4000000\n", "3900000\n", "inactive_file 0\n");
    put_v2("sys/fs/cgroup/a/b", "3000000\n", "1000000\n", "inactive_file 0\n");
    expect_limit(3000000, 100000);
}

Test(memory_limit, v2_max_is_no_limit) {
    put_machine_v2("/a");
    put_v2("sys/fs/cgroup/a", "max\n", "3000000\n", "inactive_file 0\n");
    expect_limit(MACHINE_TOTAL, MACHINE_FREE);
}

Test(memory_limit, v2_counts_groups_where_the_machine_is_unknown) {
    put_machine_v2("/a");
    put("proc/meminfo", "");
    put_v2("sys/fs/cgroup/a", "9000000000\n", "1000000000\n", "inactive_file 0\n");
    expect_limit(9000000000, 8000000000);
}

// ---- version 1 ----

static void put_machine_v1(void) {
    put_machine();
    put("proc/self/cgroup", "12:memory_tags:/wrong\n"
                            "11:name=systemd:/wrong\n"
                            "4:cpu,memory:/batch:1/job\n"
                            "3:cpuset:/wrong\n");
    put("proc/self/mountinfo",
        "31 22 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,cpu,memory\n");
}

Test(memory_limit, v1_counts_the_limits_of_the_group_and_those_above) {
    put_machine_v1();
    put_v1("sys/fs/cgroup/memory", "9223372036854771712\n", "7000000\n", "total_inactive_file 0\n");
    put_v1("sys/fs/cgroup/memory/batch:1", "6000000\n", "5900000\n",
           "inactive_file 100\ntotal_inactive_file 400000\n");
    put_v1("sys/fs/cgroup/memory/batch:1/job", "3000000\n", "2600000\n",
           "inactive_file 100\ntotal_inactive_file 200000\n");
    put_v1("sys/fs/cgroup/memory/wrong", "10\n", "10\n", "total_inactive_file 0\n");
    put_v1("sys/fs/cgroup/cpuset/batch:1/job", "10\n", "10\n", "total_inactive_file 0\n");
    expect_limit(3000000, 500000); // 6000000 - (5900000 - 400000), job itself leaves 600000
}

Test(memory_limit, v1_prints_huge_numbers_for_no_limit) {
    put_machine_v1();
    put("proc/meminfo", "");
    put_v1("sys/fs/cgroup/memory/batch:1", "9223372036854775807\n", "1\n", "");
    put_v1("sys/fs/cgroup/memory/batch:1/job", "4611686018427387904\n", "1\n", ""); // 2^62
    expect_limit(0, 0);
}

Test(memory_limit, hybrid_finds_the_hierarchy_with_the_memory) {
    put_machine();
    put("proc/self/cgroup", "4:memory:/job\n1:cpu:/\n0::/job\n");
    put("proc/self/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put_v1("sys/fs/cgroup/memory/job", "3000000\n", "1000000\n", "total_inactive_file 50000\n");
    put("sys/fs/cgroup/unified/job/cgroup.procs", "1\n");
    expect_limit(3000000, 2050000);
}

// ---- mounts ----

Test(memory_limit, container_sees_its_group_at_the_mount_point) {
    put_machine();
    put("proc/self/cgroup", "4:memory:/docker/abc/sub\n");
    put("proc/self/mountinfo",
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put_v1("sys/fs/cgroup/memory", "2000000\n", "500000\n", "total_inactive_file 0\n");
    put_v1("sys/fs/cgroup/memory/sub", "1000000\n", "400000\n", "total_inactive_file 100000\n");
    put_v1("sys/fs/cgroup/memory/docker/abc", "10\n", "10\n", "total_inactive_file 0\n");
    expect_limit(1000000, 700000);
}

Test(memory_limit, all_mounts_that_show_the_group_count) {
    put_machine();
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/mountinfo", "41 31 0:38 / /whole rw - cgroup2 cgroup2 rw\n"
                               "42 31 0:38 /a/b /part rw - cgroup2 cgroup2 rw\n"
                               "43 31 0:38 /c /other rw - cgroup2 cgroup2 rw\n");
    put_v2("whole/a", "2000000\n", "500000\n", "inactive_file 0\n");
    put_v2("part", "3000000\n", "2000000\n", "inactive_file 0\n");
    put_v2("other", "10\n", "10\n", "inactive_file 0\n");
    expect_limit(2000000, 1000000);
}

static void expect_mount_itself(const char *cgroup, const char *mount_root) {
    char line[256];
    snprintf(line, sizeof line, "41 31 0:38 %s /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
             mount_root);
    put_machine();
    put("proc/self/cgroup", cgroup);
    put("proc/self/mountinfo", line);
    put_v2("sys/fs/cgroup", "2000000\n", "500000\n", "inactive_file 0\n");
    put_v2("sys/fs", "10\n", "10\n", "inactive_file 0\n"); // above the mount point
    put_v2("sys/fs/cgroupd", "10\n", "10\n", "inactive_file 0\n");
    expect_limit(2000000, 1500000);
}

Test(memory_limit, namespace_falls_back_to_the_mount_point) {
    expect_mount_itself("0::/../..\n", "/");
    expect_mount_itself("0::/a/../../..\n", "/");
    expect_mount_itself("0::/\n", "/../..");
}

Test(memory_limit, group_elsewhere_falls_back_to_the_mount_point) {
    expect_mount_itself("0::/docker/abc\n", "/kube");
    expect_mount_itself("0::/docker/abcd\n", "/docker/abc");
    expect_mount_itself("0::/\n", "/docker/abc");
}

Test(memory_limit, top_group_is_the_mount_point) {
    expect_mount_itself("0::/\n", "/");
    expect_mount_itself("0::/docker/abc\n", "/docker/abc");
}

Test(memory_limit, mount_points_are_decoded) {
    put_machine();
    put("proc/self/cgroup", "0::/a b/c\\d\n");
    put("proc/self/mountinfo",
        "41 31 0:38 /a\\040b /my\\040groups\\0111\\134040 rw - cgroup2 cgroup2 rw\n");
    put_v2("my groups\t1\\040/c\\d", "2000000\n", "500000\n", "inactive_file 0\n");
    expect_limit(2000000, 1500000);
}

Test(memory_limit, long_lines_are_read_whole) {
    enum { LONG = 100000 };
    static const char mount[] = "\n41 31 0:38 / /groups rw - cgroup2 cgroup2 rw\n";
    char *lines = malloc(LONG + sizeof mount);
    cr_assert_not_null(lines);
    memset(lines, 'x', LONG);
    memcpy(lines + LONG, mount, sizeof mount);
    put_machine();
    put("proc/self/cgroup", "0::/a\n");
    put("proc/self/mountinfo", lines);
    put_v2("groups/a", "2000000\n", "500000\n", "inactive_file 0\n");
    expect_limit(2000000, 1500000);
    put("proc/self/cgroup", lines); // and a group of such a name is none
    expect_limit(MACHINE_TOTAL, MACHINE_FREE);
    memcpy(lines, "0::/", 4);
    put("proc/self/cgroup", lines);
    expect_limit(MACHINE_TOTAL, MACHINE_FREE);
    free(lines);
}

// ---- what is odd ----

Test(memory_limit, usage_above_the_limit_leaves_nothing) {
    put_machine_v2("/a");
    put_v2("sys/fs/cgroup/a", "1000000\n", "1500000\n", "inactive_file 100000\n");
    expect_limit(1000000, 0);
}

Test(memory_limit, more_idle_than_used_leaves_the_whole_limit) {
    put_machine_v2("/a");
    put_v2("sys/fs/cgroup/a", "1000000\n", "300000\n", "inactive_file 400000\n");
    expect_limit(1000000, 1000000);
}

Test(memory_limit, limit_holds_where_the_usage_is_unknown) {
    put_machine_v2("/a");
    put("sys/fs/cgroup/a/memory.max", "1000000\n");
    expect_limit(1000000, 1000000);
    put("sys/fs/cgroup/a/memory.current", "400000\n");
    expect_limit(1000000, 600000);
}

static const char *const garbage[] = {
    "",
    "\n\n",
    "-1\n",
    "+1\n",
    " \n",
    "1x\n",
    "1 MB\n",
    "99999999999999999999999\n",
    "18446744073709551615\n",
    ":\n::\n:::\n0::\n0::a\n:memory\n:memory:\n",
    "-\n - \n - - -\na - cgroup2\n1 2 3 4 - cgroup2 b c\n1 2 3 4 5 - cgroup2 b c\n",
    "1 2 3 / / - cgroup\n1 2 3 / / - cgroup a\n1 2 3 / / - cgroup a \n1 2 3 / / - cgroup2",
    "1 2 3 \\ /\\ - cgroup2 a b\n1 2 3 \\0 /\\12 - cgroup2 a b\n1 2 3 \\777 /\\000 - cgroup2 a b",
    "MemTotal:\nMemAvailable:\nMemTotal\nVmSize:\ninactive_file\ntotal_inactive_file\n",
    "MemTotal: x kB\nMemTotal: -1 kB\nMemTotal: 1 MB\nMemTotal: 18014398509481984 kB\n",
    "\xff\xfe\x80\x01\n",
};
enum { GARBAGE_COUNT = sizeof garbage / sizeof *garbage };

Test(memory_limit, garbage_everywhere_is_unknown) {
    for (size_t i = 0; i < GARBAGE_COUNT; i++) {
        put("proc/meminfo", garbage[i]);
        put("proc/self/cgroup", garbage[i]);
        put("proc/self/mountinfo", garbage[i]);
        put("proc/self/status", garbage[i]);
        expect_limit(0, 0);
    }
}

Test(memory_limit, garbage_in_one_file_limits_nothing) {
    for (size_t i = 0; i < GARBAGE_COUNT; i++) {
        put_machine_v2("/a");
        put_v2("sys/fs/cgroup/a", garbage[i], garbage[i], garbage[i]);
        expect_limit(MACHINE_TOTAL, MACHINE_FREE);
        put_v2("sys/fs/cgroup/a", "1000000\n", "400000\n", garbage[i]);
        expect_limit(1000000, 600000);
        put("proc/self/mountinfo", garbage[i]);
        expect_limit(MACHINE_TOTAL, MACHINE_FREE);
        put_machine_v2("/a");
        put("proc/self/cgroup", garbage[i]);
        expect_limit(MACHINE_TOTAL, MACHINE_FREE);
        put_machine_v2("/a");
        put("proc/meminfo", garbage[i]);
        expect_limit(1000000, 600000);
    }
}

Test(memory_limit, odd_groups_are_no_groups) {
    put_machine_v2("/");
    put_v2("sys/fs/cgroup", "2000000\n", "500000\n", "inactive_file 0\n");
    expect_limit(2000000, 1500000);
    put("proc/self/cgroup", "0::\n0::a\n0:/\n0/\n1:memory:/\n2:name=:/\n");
    expect_limit(MACHINE_TOTAL, MACHINE_FREE);
}

Test(memory_limit, folders_in_the_place_of_files_limit_nothing) {
    put("proc/meminfo/a", "");
    put("proc/self/cgroup/a", "");
    put("proc/self/mountinfo/a", "");
    expect_limit(0, 0);
}

Test(memory_limit, leaves_no_file_open) {
    put_machine_v2("/a/b");
    put_v2("sys/fs/cgroup/a", "1000000\n", "400000\n", "inactive_file 0\n");
    const int before = dup(STDERR_FILENO);
    close(before);
    expect_limit(1000000, 600000);
    const int after = dup(STDERR_FILENO);
    close(after);
    cr_expect_eq(before, after);
}

// ---- the limits of the process ----

// 2^50: more than any address space a process has, so that the test itself can go on under it.
static const rlim_t RESOURCE_LIMIT = (rlim_t)1 << 50;

static void expect_resource_counts(int resource, const char *used_key) {
    struct rlimit most;
    cr_assert_eq(getrlimit(resource, &most), 0);
    most.rlim_cur = RESOURCE_LIMIT;
    cr_assert_eq(setrlimit(resource, &most), 0);
    put("proc/meminfo", "MemTotal: 4398046511104 kB\nMemAvailable: 4398046511104 kB\n"); // 2^52
    expect_limit(1125899906842624, 1125899906842624);
    char status[256];
    snprintf(status, sizeof status, "Name:\thox\n%s\t 824633720832 kB\nVmPeak: 1 kB\n", used_key);
    put("proc/self/status", status);
    expect_limit(1125899906842624, 281474976710656); // 2^50 - 3/4 of it
    snprintf(status, sizeof status, "%s\t 1649267441664 kB\n", used_key);
    put("proc/self/status", status);
    expect_limit(1125899906842624, 0);
    put("proc/meminfo", "");
    expect_limit(1125899906842624, 0);
}

Test(memory_limit, address_space_limit_counts) {
    expect_resource_counts(RLIMIT_AS, "VmSize:");
}

Test(memory_limit, data_limit_counts) {
    expect_resource_counts(RLIMIT_DATA, "VmData:");
}

// ---- the real one ----

Test(memory_limit, reads_this_machine) {
    const memory_limit limit = memory_limit_read("");
    cr_expect_gt(limit.total_bytes, 0);
    cr_expect_gt(limit.free_bytes, 0);
    cr_expect_leq(limit.free_bytes, limit.total_bytes);
}
