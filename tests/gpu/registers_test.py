#!/usr/bin/env python3
"""registers_test.py - every breach that registers.py is to find is found, and named."""

import unittest

import registers

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'wide' for 'sm_90'
ptxas info    : Function properties for wide
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 91 registers, used 1 barriers, 16384 bytes smem
ptxas info    : Compile time = 45.130 ms
ptxas info    : Compiling entry function 'wide' for 'sm_75'
ptxas info    : Function properties for wide
    8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 80 registers, used 1 barriers, 16384 bytes smem, 448 bytes cmem[0]
ptxas info    : Compiling entry function 'thin' for 'sm_90'
ptxas info    : Function properties for thin
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers
"""
TABLE = """\
# nvcc 13.0.88
kernel,architecture,registers,shared_bytes,stack_bytes,spill_stores,spill_loads
thin,sm_90,16,0,0,0,0
wide,sm_75,80,16384,8,8,12
wide,sm_90,91,16384,0,0,0
"""


def entry(kernel, architecture):
    """Where the log comes to speak of it."""
    return LOG.index(f"ptxas info    : Compiling entry function '{kernel}' for '{architecture}'")


SPILLED = LOG.replace("0 bytes stack frame, 0 bytes spill stores, 0", "8 bytes stack frame, 8 bytes spill stores, 4", 1)


class Registers(unittest.TestCase):
    def compare(self, log=LOG, table=TABLE, version="13.0.88"):
        return registers.compare(version, log, table)

    def check_one(self, line, **what):
        self.assertEqual(self.compare(**what)[0], [line])

    def test_equal_is_right(self):
        self.assertEqual(self.compare(), ([], ["3 rows looked at"]))

    def test_writes_what_it_reads(self):
        self.assertEqual(registers.table_text("13.0.88", registers.read_log(LOG)), TABLE)

    def test_finds_other_registers(self):
        self.check_one("wide on sm_90: registers was 91, is 96", log=LOG.replace("Used 91", "Used 96"))

    def test_finds_other_shared_memory(self):
        self.check_one("wide on sm_75: shared_bytes was 16384, is 512", log=LOG.replace("16384 bytes smem, 448", "512 bytes smem, 448"))

    def test_finds_a_missing_kernel(self):
        self.check_one("thin on sm_90: is in the table and not in the log", log=LOG[:entry("thin", "sm_90")])

    def test_finds_a_missing_architecture(self):
        rest = LOG[:entry("wide", "sm_75")] + LOG[entry("thin", "sm_90"):]
        self.check_one("wide on sm_75: is in the table and not in the log", log=rest)

    def test_finds_a_new_kernel(self):
        self.check_one("thin on sm_90: is in the log and not in the table", table=TABLE.replace("thin,sm_90,16,0,0,0,0\n", ""))

    def test_finds_spills(self):
        wrong, _ = self.compare(log=SPILLED)
        self.assertIn("wide on sm_90: 8 bytes of spill stores, 4 of spill loads; from sm_80 on there may be none", wrong)

    def test_no_table_allows_spills(self):
        accepted = registers.table_text("13.0.88", registers.read_log(SPILLED))
        self.check_one("wide on sm_90: 8 bytes of spill stores, 4 of spill loads; from sm_80 on there may be none",
                       log=SPILLED, table=accepted)

    def test_another_compiler_may_differ(self):
        wrong, said = self.compare(log=LOG.replace("Used 91", "Used 96"), version="12.8.93")
        self.assertEqual((wrong, said), ([], ["nvcc is 12.8.93, the table was made with 13.0.88: only spills were looked for"]))

    def test_another_compiler_may_not_spill(self):
        wrong, _ = self.compare(log=SPILLED, version="12.8.93")
        self.assertEqual(len(wrong), 1)

    def test_refuses_an_empty_log(self):
        for log in ("", "ptxas info    : 0 bytes gmem\n"):
            with self.assertRaisesRegex(registers.Problem, "names no kernel"):
                self.compare(log=log)

    def test_refuses_a_broken_table(self):
        for table in ("", TABLE.replace("# nvcc 13.0.88\n", ""), TABLE.replace(",91,", ",,")):
            with self.assertRaises(registers.Problem):
                self.compare(table=table)


if __name__ == "__main__":
    unittest.main()
