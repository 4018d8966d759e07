# SPDX-License-Identifier: MIT
"""Registers, code size and bytes in flight of the kernels of measured_kernels.cu, and bounds on their code size.

    kernel_table.py LOG CUBIN [--record FILE]

LOG: what nvcc -cubin -Xptxas -v printed. --record writes the table into docs/performance/gpu_kernels.json. The exit
status is 1 if a kernel exceeds its bound, or if one is missing.
"""
import argparse
import json
import re
import subprocess

# What of a kernel's demangled name tells it; its name in the table; bytes of loads that a thread has in flight; bytes of
# code of a kernel that is sketched for this one case, or None; bound on the bytes of code. 12 KiB is the first level of
# the instruction cache of a quarter of a multiprocessor (Jia et al. 2018, "Dissecting the NVIDIA Volta GPU architecture
# via microbenchmarking", section 3).
FIRST_LEVEL = 12 * 1024
KERNELS = [
    ("rotation_kernel<bfloat16, 2, half_split", "rotation, bf16, half_split, few heads (decode)", 8, 2736, FIRST_LEVEL / 2),
    ("rotation_kernel<bfloat16, 2, interleaved", "rotation, bf16, interleaved, few heads (decode)", 8, 2608, FIRST_LEVEL / 2),
    ("rotation_kernel<bfloat16, 4, half_split", "rotation, bf16, half_split, several heads", 32, 5152, FIRST_LEVEL),
    ("rotation_kernel<bfloat16, 8, half_split", "rotation, bf16, half_split, many heads", 32, 5840, FIRST_LEVEL),
    ("rotation_kernel<bfloat16, 4, interleaved", "rotation, bf16, interleaved, many heads", 32, 4976, FIRST_LEVEL),
    ("rotation_kernel<float, 4, half_split", "rotation, fp32, half_split, many heads", 64, 4912, FIRST_LEVEL),
    ("rotation_kernel<float, 2, interleaved", "rotation, fp32, interleaved, many heads", 16, None, FIRST_LEVEL / 2),
    ("heads_kernel<bfloat16, span<bfloat16>, half_split, angle_difference", "rebase in slots, bf16", 32, None, 22000),
    ("heads_kernel<bfloat16, span<bfloat16, rms_norm>, half_split, exact_angles", "norm, rotation, bf16", 32, 12096, 24000),
    ("heads_kernel<bfloat16, span<fp8<3>>", "rotation to fp8", 32, 10208, 34000),
    ("heads_kernel<bfloat16, span<signed char>", "rotation to int8", 32, None, 40000),
    ("heads_kernel<bfloat16, span<q8_0_block>", "rotation to q8_0", 32, None, 40000),
    ("heads_kernel<bfloat16, span<mx_blocks<fp8<3>>>", "rotation to MXFP8", 32, None, 40000),
    ("heads_kernel<bfloat16, span<fp4_e2m1_x2>", "rotation to NVFP4", 32, None, 40000),
    ("team_backward_kernel<bfloat16, no_norm, half_split, exact_angles", "backward, bf16, half_split", 64, 9984, 26000),
    ("team_backward_kernel<bfloat16, no_norm, interleaved, exact_angles", "backward, bf16, interleaved", 64, 7424, 26000),
    ("team_backward_kernel<float, no_norm, half_split, exact_angles", "backward, fp32, half_split", 64, 7552, 21000),
    ("team_backward_kernel<bfloat16, rms_norm<float>, half_split, exact_angles", "backward behind a norm, bf16", 64, 20352, 34000),
    ("gradient_sums_kernel", "sums of the backward pass", 32, None, 8000),
    ("heads_kernel<bfloat16, tuple", "norm, rotation, q in place, k and v to fp8", 32, None, 100000),
]


def short(name):
    """A kernel's name without namespaces, defaults and what tells nothing."""
    name = re.sub(r"(cordage::|backend::|angle_detail::|std::|void |run_kernel)", "", name)
    name = re.sub(r"operand<bfloat16, [^,]*, element_traits<bfloat16>, (mx_blocks<[^,]*>), no_norm>", r"\1", name)
    name = re.sub(r"operand<bfloat16, ([^,]*), element_traits<bfloat16>, [^,]*?(?:<[^<>]*(?:<[^<>]*>)?[^<>]*>)?, no_norm>",
                  r"\1", name)
    name = re.sub(r"operand<bfloat16, ([^,]*), element_traits<bfloat16>, .*?, rms_norm<float> ?>", r"\1, rms_norm", name)
    name = re.sub(r"written_list<span<(.*?) const\* const, \d+u?l?> ?>", r"span<\1>", name)
    name = re.sub(r"written_list<tuple", "tuple", name)
    return re.sub(r"> >", ">>", name).lstrip("<")


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return text.splitlines()


def registers_of(log):
    entries = re.findall(r"Compiling entry function '(\S+)'.*?\n(?:.*\n)*?.*Used (\d+) registers", log)
    return {entry: int(count) for entry, count in entries}


def code_of(cubin):
    """Bytes of code of each kernel."""
    sections = subprocess.run(["readelf", "-SW", cubin], capture_output=True, text=True, check=True).stdout
    return {name: int(size, 16) for name, size in
            re.findall(r"\.text\.(\S+)\s+PROGBITS\s+\S+\s+\S+\s+([0-9a-f]+)", sections)}


def threads_of(registers, block):
    """Threads of whole blocks on a multiprocessor of 65536 registers, which are given to warps in units of 256."""
    warps = 65536 // (-(-registers * 32 // 256) * 256)
    return min(2048 // block, warps * 32 // block) * block


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("cubin")
    parser.add_argument("--record")
    options = parser.parse_args()
    registers, code = registers_of(open(options.log).read()), code_of(options.cubin)
    names = {short(full): entry for entry, full in zip(code, demangled(code))}
    rows, wrong = [], []
    for part, label, ahead, sketch, bound in KERNELS:
        found = [entry for name, entry in names.items() if part in name]
        if len(found) != 1:
            wrong.append(f"{part}: {len(found)} kernels have this name")
            continue
        size, count = code[found[0]], registers[found[0]]
        threads = threads_of(count, 128 if part.startswith("heads_kernel") else 256)
        rows.append([label, str(count), str(threads), f"{threads * ahead / 1024:.0f} KB",
                     f"{size:,}", f"{sketch:,}" if sketch else ""])
        if size > bound:
            wrong.append(f"{label}: {size} bytes of code, must be at most {bound:.0f}")
    columns = ["kernel", "registers", "threads a multiprocessor", "loads in flight", "bytes of code", "of a sketch"]
    for row in [columns, *rows]:
        print(" | ".join(row))
    if options.record:
        record = json.load(open(options.record))
        record["tables"]["registers"] = {"columns": columns, "align": "lrrrrr", "rows": rows}
        with open(options.record, "w") as to:
            json.dump(record, to, indent=1)
            to.write("\n")
    if wrong:
        print("\n".join(wrong))
        if any("this name" in line for line in wrong):
            print("\n".join(sorted(names)))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
