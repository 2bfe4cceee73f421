#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_legacy.py FOLDER: writes old profiles of every kind, with the oddities of each; the same ones every time.

NAME.jemalloc has a twin NAME.jemalloc.heap: the same in a form that google/pprof reads.
"""
import random
import struct
import sys
from pathlib import Path

R = random.Random(20)
MAPS = """\
00400000-004f1000 r-xp 00000000 08:01 1048601   /usr/bin/server
004f1000-00500000 r--p 000f0000 08:01 1048601   /usr/bin/server
7f0000200000-7f0000300000 r-xp 00020000 08:01 77  /lib/libc.so.6
7f0000300000-7f0000380000 r-xp 00120000 08:01 77  /lib/libc.so.6
7f0000400000-7f0000480000 r-xp 00010000 08:01 78  /opt/libapp_1.so (deleted)
7ffffb461000-7ffffb482000 rw-p 00000000 00:00 0           [stack]
7ffffb56b000-7ffffb56d000 r-xp 00000000 00:00 0           [vdso]
"""
BRIEF = """\
  build=/opt/build
  lib=$build/lib
  7f0000200000-7f0000300000: $lib/libc.so.6 (@20000) abc123
  00400000-00500000: $build/bin/server
  0x500000-0x510000 /opt/plain
  7f0000400000-7f0000480000 r-xp /opt/with/permissions
  7f0000480000-7f0000490000 rw-p /opt/data
  I0101 00:00:00.000000 1 maps.cc:12] 7f0000500000-7f0000510000: /opt/logged
  nothing that could be read
  $unknown=1
"""
HUGE = """\
00400000-00500000 r-xp 00000000 00:00 0 /anon_hugepage
00500000-00600000 r-xp 00100000 00:00 9 /usr/bin/huge
"""
PIE = "555555554000-555555654000 r-xp 555555154000 08:01 5 /usr/bin/pie\n"


def address():
    return R.choice([R.randrange(0x400000, 0x510000), R.randrange(0x7F0000200000, 0x7F0000480000), R.getrandbits(40)])


POOL = [address() for _ in range(60)]


def stack(most=12):
    return [R.choice(POOL) for _ in range(R.randrange(0, most))]


def hexed(addresses, width=0):
    return "".join(f" 0x{a:0{width}x}" for a in addresses)


def cpu(word, samples, period=10000, java=0, end=True):
    words = [0, 3, java, period, 0]
    for count, frames in samples:
        words += [count, len(frames), *frames]
    if end:
        words += [0, 1, 0]
    return b"".join(struct.pack(word, w & (2 ** (8 * struct.calcsize(word)) - 1)) for w in words)


def small(frames):
    return [a & 0xFFFFFF for a in frames]


def cpu_files():
    plain = [(R.randrange(1, 500), stack()) for _ in range(80)]
    handler = [(c, [s[0], 0xABC000, 0xABC100, *s[1:]]) for c, s in plain if s]
    odd = handler[:60] + [(1, [1, 2, 3])] + [(2, [])]
    double = [(c, [s[0], 0xABC000, s[0], *s[1:]]) for c, s in plain if s]
    for name, word in (("le32", "<I"), ("be32", ">I"), ("le64", "<Q"), ("be64", ">Q")):
        cut = [(c, small(s)) for c, s in plain] if "I" in word else plain
        yield f"cpu-{name}.prof", cpu(word, cut) + MAPS.encode()
    yield "cpu-handler.prof", cpu("<Q", handler) + MAPS.encode()
    yield "cpu-handler-most.prof", cpu("<Q", odd) + BRIEF.encode()
    yield "cpu-double-leaf.prof", cpu("<Q", double) + MAPS.encode()
    yield "cpu-no-maps.prof", cpu("<Q", plain)
    yield "cpu-no-end.prof", cpu("<Q", plain, end=False)
    yield "cpu-empty.prof", cpu("<Q", [])
    yield "cpu-one.prof", cpu("<Q", [(1, [0x401000, 0x402000, 0x403000])], period=1)
    yield "cpu-zero-address.prof", cpu("<Q", [(1, [0, 1, 0x401000]), (2, [0x99, 0x98]), (3, [5, 0, 7])])
    yield "cpu-huge.prof", cpu("<Q", plain) + HUGE.encode()
    yield "cpu-pie.prof", cpu("<Q", [(1, [0x555555554010, 0x400500]), (1, [0x7])]) + PIE.encode()
    names = "".join(f" 0x{n:08x} com.example.f{n} (Source{n}.java:{n})\n" for n in range(3, 30))
    odd_names = " 0x1e GC\n 0x1f libjvm (/usr/lib/jvm/libjvm.so)\n0x20 a generated stub/JIT\n0x21 f  (A.java:-5)\n"
    odd_names += " 0x22 g (x) (B.java:7)\n 0x23 com.example.f5 (Other.java:9)\n 0x24\n 0x25 h (B.java:7:8)\nnothing\n"
    java = [(R.randrange(0, 9), [R.randrange(3, 40) for _ in range(R.randrange(1, 20))]) for _ in range(50)]
    yield "java-cpu.prof", cpu("<Q", java, java=1) + (names + odd_names).encode()


def sizes():
    n = R.randrange(1, 300)  # the library writes no label 0, so there is no object of 0 bytes
    return n, n * R.randrange(1, R.choice([64, 4096, 1 << 22])) + R.randrange(0, n)


def heap(kind, rows, header=None, tail=""):
    total = header or [sum(r[0][i] for r in rows) for i in range(4)]
    text = f"heap profile: {total[0]:6}: {total[1]:8} [{total[2]:6}: {total[3]:8}] @ {kind}\n"
    for c, frames in rows:
        text += f"{c[0]:6}: {c[1]:8} [{c[2]:6}: {c[3]:8}] @{hexed(frames)}\n"
    return text + tail


def use_rows(n=300):
    rows = []
    for _ in range(n):
        count, size = sizes()
        rows.append(((count, size, count, size), stack()))
    return rows


def heap_files():
    use = use_rows()
    alloc = []
    for _ in range(300):
        (n, b), (m, c) = sizes(), sizes()
        alloc.append(((n, b, n + m, b + c), stack()))
    maps = "\nMAPPED_LIBRARIES:\n" + MAPS
    for kind in ("heap/1048576", "heap_v2/524288", "heapz_v2/1", "heapz_v2/0", "heapprofile", "heap", "heap/3"):
        name = kind.replace("/", "-")
        yield f"use-{name}.heap", heap(kind, use, tail=maps)
        yield f"alloc-{name}.heap", heap(kind, alloc, tail="\n--- Memory map: ---\n" + BRIEF)
    for kind in ("growthz", "growth", "fragmentationz", "fragmentation"):
        yield f"{kind}.heap", heap(kind, [((-n, -b, m, c), s) for (n, b, m, c), s in use],
                                   header=[1, 2, 3, 4], tail=maps)
    yield "header-zero.heap", heap("heap_v2/524288", use, header=[1, 2, 0, 0])
    yield "comments.heap", heap("heap_v2/4096", use[:5]) + "# one\n\n   \n" + "1: 2 [1: 2] @ 0x1\n1: 1 [0: 0] @\n"
    yield "crlf.heap", heap("heap_v2/4096", use, tail=maps).replace("\n", "\r\n")
    large = [((n, b * 99991, n, b * 99991), s) for (n, b, _, _), s in use]
    yield "large.heap", heap("heap_v2/524288", large)
    text = "heap_v2/524288\n" + "  t*: 9: 99 [0: 0]\n  t0: 9: 99 [0: 0]\n"
    for c, frames in use:
        text += f"@{hexed(frames)}\n  t*: {c[0]}: {c[1]} [0: 0]\n  t0: {c[0]}: {c[1]} [0: 0]\n  t17: 0: 0 [0: 0]\n"
    yield "use.jemalloc", text + maps
    yield "use.jemalloc.heap", heap("heap_v2/524288", [((*c[:2], 0, 0), s) for c, s in use], tail=maps)
    text = "<jemalloc>: a line of a log\nheap_v2/4096\n  t*: 1: 2 [3: 4]\n"
    for c, frames in alloc:
        text += f"@{hexed(frames)}\n  t*: {c[0]}: {c[1]} [{c[2]}: {c[3]}]\n"
    yield "alloc.jemalloc", text + maps
    yield "alloc.jemalloc.heap", heap("heap_v2/4096", alloc, tail=maps)


def count_files():
    rows = "".join(f"{R.randrange(1, 99)} @{hexed(stack() or [9])}\n#\t0x43b0a5\tmain.main+0x25\t/src/main.go:7\n\n"
                   for _ in range(90))
    yield "goroutine.txt", "goroutine profile: total 90\n" + rows
    yield "threadcreate.txt", "# first a comment\n\nthreadcreate profile: total 7\n" + rows
    yield "own-name.txt", "github.com/x/y.Z profile: total 7\n" + rows + "--- Memory map: ---\n" + MAPS


def contention_rows():
    return "".join(f"{R.randrange(0, 1 << 40):10} {R.randrange(1, 999):6} @{hexed(stack())}\n" for _ in range(99))


def contention_files():
    rows = contention_rows()
    for go in ("mutex", "contention"):
        yield f"{go}.txt", f"--- {go}:\ncycles/second=2394457823\nsampling period=5\n{rows}"
    yield "no-period.txt", f"--- contention:\ncycles/second=2394457823\n{rows}"
    yield "no-cycles.txt", f"--- mutex:\n# a comment\n\nsampling period = 0x10\n{rows}"
    yield "zero-period.txt", f"--- mutex:\ncycles/second=1\nsampling period=0\n{rows}"
    yield "contentionz.txt", ("--- contentionz 1 ---\ncycles/second = 3201000000\nsampling period = 100\n"
                              f"ms since reset = 16502830\ndiscarded samples = 0\n{rows}--- Memory map: ---\n{MAPS}")
    yield "contentionz-empty.txt", "--- contentionz 1 ---\ncycles/second = 1\n"
    yield "contentionz-alone.txt", "--- contentionz 1 ---\n"


def java_text_files():
    names = "".join(f" 0x{n:08x} com.example.f{n} (Source{n}.java:{n})\n" for n in range(3, 35))

    def rows(zero):
        text = ""
        for _ in range(70):
            frames = [R.randrange(3, 40) for _ in range(R.randrange(1, 30))]
            text += f"{R.randrange(0, 99999):12} {R.randrange(zero, 77):5} @{hexed(frames, 8)}\n"
        return text

    yield "java.heap", "--- heapz 1 ---\nformat = java\nresolution = bytes\n" + rows(1) + names
    yield "java-no-period.txt", "--- contentionz 1 ---\nformat = java\nresolution = microseconds\n" + rows(0) + names
    yield "java-period.txt", ("--- contentionz 1 ---\nresolution = milliseconds\nformat = java\nsampling period = 07\n"
                              "ms since reset = 6019923\n" + rows(0) + names)


def thread_files():
    blocks = ""
    for n in range(40):
        frames = stack() or [7]
        if n % 9 == 4:
            frames = [frames[0], frames[0], *frames[1:]]
        body = "PC:" + "".join(f"   0x{a:016x} f{n}\n" for a in frames)
        if n % 7 == 3:
            body = "   [same as previous thread]\n"
        blocks += f"--- Thread {n:x}0 (name: main/{n}) stack: ---\n{body}"
    yield "threadz.txt", "--- threadz 1 ---\n\nNumber of threads: 40\n" + blocks + "--- Memory map: ---\n" + MAPS
    end = "---- no stack trace for thread 7 (x/1) ----\nmore\nMAPPED_LIBRARIES:\n"
    yield "thread.txt", "# comment\n" + blocks + end + BRIEF
    yield "threadz-none.txt", "--- threadz 1 ---\n\n--- Memory map: ---\n" + MAPS


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for files in (cpu_files, heap_files, count_files, contention_files, java_text_files, thread_files):
        for name, content in files():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


main()
