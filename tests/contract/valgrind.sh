#!/usr/bin/env bash
# valgrind.sh FOLDER: the suites of the CPU kernels and runtimes under memcheck, which sees what is
# read before it is written. FOLDER holds the test programs. Without valgrind there is a line and
# status 77. Criterion runs each test in a process of its own: each has a log, and all are read.
set -euo pipefail

readonly folder=$1
if ! command -v valgrind >/dev/null; then
    echo "skipped: no valgrind here"
    exit 77
fi

# Suite and pattern; what is left out takes minutes here.
readonly checks=(
    "kernels kernels/@(follow*|know*|give*)"
    "program program/*"
    "share share/!(always*)"
    "groups groups/@(replay*|count*)"
    "runtime runtime/@(keeps*|refuses*|destroys*)"
    "training training/@(is_added*|refuses*|knows*)"
)

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export HOX_CPU=portable # valgrind knows no AVX-512; suites that choose for themselves skip it
export HOX_FAKE_CUDA_DEVICES=0 # nor the fibres of the fake driver: suites skip the GPU, which the address sanitizer watches
failed=0
for check in "${checks[@]}"; do
    read -r suite pattern <<<"$check"
    valgrind --quiet --trace-children=yes --error-exitcode=99 --log-file="$logs/$suite.%p" \
        "$folder/test_contract_$suite" --jobs 1 --filter "$pattern" || failed=1
done

# Quiet logs hold errors alone.
for log in "$logs"/*; do
    [[ -s $log ]] || continue
    echo "$(basename "$log"):"
    head -n 40 "$log"
    failed=1
done
exit "$failed"
