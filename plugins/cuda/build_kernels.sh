#!/usr/bin/env bash
# build_kernels.sh OUTPUT NVCC ARGUMENT... - runs nvcc; what ptxas says of each kernel goes to OUTPUT.log, and to the
# screen where it fails.
set -euo pipefail
output=$1
shift
"$@" -fatbin -Xptxas -v -o "$output" >"$output.log" 2>&1 || {
    cat "$output.log" >&2
    exit 1
}
