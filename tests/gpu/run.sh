#!/usr/bin/env bash
# run.sh - builds hox on a machine with an NVIDIA GPU, checks its CUDA half there and measures it.
set -euo pipefail
self=$(realpath -- "${BASH_SOURCE[0]}")
readonly self folder=build/gpu seconds_in_all=475
readonly results=${OUT:-$folder}/results.md
readonly gpu_check=$folder/tests/gpu/gpu_check

usage() {
    cat <<'TEXT'
usage: tests/gpu/run.sh [--only STEP[,STEP...]] [FOLDER_OF_TOPOLOGIES]

For a machine with an NVIDIA GPU: at most eight minutes. A step that fails does not stop those after it; the last
lines say how each went. Status 0: nothing failed; 1: something did; 77: there is no GPU here.

  build       into build/gpu: the runtimes, tests/gpu and, where Criterion is, all suites
  registers   the compiler's registers and spills beside tests/golden/cuda_kernels.csv
  check       logits of eager, graph and fused on all topologies and 300 random plans, beside the CPU's and a
              double-precision reference's, and to the bit beside each other's; genomes in groups and by themselves
  captures    1,000 runners of graph, recorded and released, leave no memory behind
  suites      the Criterion suites that know about GPUs (ctest label "gpu")
  squeeze     the same fitness by each runtime with 600 MiB of the GPU's memory left (fused: 150)
  timing      images a second and share of the measured peak, beside PyTorch (eager, CUDA graphs, torch.compile);
              populations of 128 genomes; the targets
  memcheck, racecheck, initcheck
              the small check under compute-sanitizer

FOLDER_OF_TOPOLOGIES: evolved_*.json; without it ../shared/genomes or shared/genomes. Needed: gcc, cmake 3.25, ninja,
nvcc, pkg-config, python3, and the libraries jansson 2.14, libxxhash, zlib and libpng. What lies elsewhere is found by
PKG_CONFIG_PATH and CMAKE_PREFIX_PATH. Where few cores build too slowly, run --only build before, until it passes. The tables go to $OUT/results.md, without OUT to build/gpu/results.md.
TEXT
}

only=""
step="" # one step alone, as run_step calls this script, for so many seconds
step_seconds=0
topologies=""
while [[ $# -gt 0 ]]; do
    case $1 in
        --help | -h)
            usage
            exit 0
            ;;
        --only)
            only=,${2:-},
            shift
            ;;
        --step)
            step=${2:-}
            step_seconds=${3:-0}
            shift 2
            ;;
        -*)
            usage >&2
            exit 2
            ;;
        *) topologies=$(realpath -- "$1") ;;
    esac
    shift
done
cd -- "$(dirname -- "$self")/../.."

has_gpu() { nvidia-smi --list-gpus 2>/dev/null | grep -q '^GPU'; }

if ! has_gpu; then
    echo "no GPU: nvidia-smi is not there or lists none"
    exit 77
fi
for place in "$topologies" ../shared/genomes shared/genomes; do
    [[ -z $place ]] || [[ ! -r $place/evolved_01.json ]] || break
done
genomes=("$place"/evolved_*.json)
if [[ ! -r ${genomes[0]} ]]; then
    echo "no topologies in ${topologies:-../shared/genomes}: name their folder" >&2
    exit 2
fi

# ---- steps ----

# What is not there, in one line each; true when all is.
has_all() {
    local -A missing=()
    local program library
    for program in gcc cmake ninja nvcc pkg-config python3; do
        command -v "$program" >/dev/null || missing[$program]="in no folder of PATH"
    done
    for library in 'jansson >= 2.14' libxxhash zlib libpng; do
        pkg-config --exists "$library" 2>/dev/null ||
            missing[$library]="not found by pkg-config: install its development package, or name the folder of its .pc in PKG_CONFIG_PATH"
    done
    for program in "${!missing[@]}"; do
        echo "missing: $program: ${missing[$program]}"
    done
    [[ ${#missing[@]} -eq 0 ]]
}

has_criterion() { pkg-config --exists criterion 2>/dev/null; }

step_build() {
    local suites=OFF
    has_all
    if has_criterion; then
        suites=ON
    fi
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DHOX_BUILD_TESTS=$suites" -DHOX_BUILD_GPU_CHECK=ON
    cmake --build "$folder"
    nvcc -O3 -arch=native -o "$folder/peak" tests/gpu/peak.cu
}

step_registers() {
    python3 -B tests/gpu/registers.py "$folder/plugins/cuda/kernels.fatbin.log" tests/golden/cuda_kernels.csv
}

step_check() { "$gpu_check" check "${genomes[@]}"; }

step_captures() { "$gpu_check" captures 1000 "${genomes[@]}"; }

step_suites() {
    if ! has_criterion; then
        echo "skipped: no Criterion, so no suites were built"
        return 77
    fi
    ctest --test-dir "$folder" --label-regex '^gpu$' --output-on-failure
}

step_squeeze() { "$gpu_check" squeeze 20000 600 "${genomes[0]}" "${genomes[3]}" "${genomes[5]}"; }

# sanitize TOOL: a tool that is not there, or cannot work with this device, is no failure.
sanitize() {
    local log=$folder/$1.log status=0
    if ! command -v compute-sanitizer >/dev/null; then
        echo "skipped: no compute-sanitizer here"
        return 77
    fi
    compute-sanitizer --tool "$1" --error-exitcode 9 "$gpu_check" check --small "${genomes[0]}" "${genomes[1]}" >"$log" 2>&1 || status=$?
    tail -n 12 "$log"
    if [[ $status -ne 0 ]] && grep -qiE 'device not supported|failed to initialize|unable to attach|driver.*not supported' "$log"; then
        echo "skipped: compute-sanitizer cannot work with this device"
        return 77
    fi
    return "$status"
}

step_memcheck() { sanitize memcheck; }
step_racecheck() { sanitize racecheck; }
step_initcheck() { sanitize initcheck; }

step_timing() {
    {
        echo "## The runtimes on a GPU"
        echo
        echo "\`tests/gpu/run.sh\`: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)," \
            "nvcc $(nvcc --version | sed -n 's/.* V\([0-9.]*\)$/\1/p'), $(date +%F)." \
            "Medians of the rounds, contenders in turn; the clock runs until the logits are on the host."
        echo
        python3 -B tests/gpu/timing.py "$gpu_check" "$folder/peak" "${genomes[@]}" --seconds $((step_seconds > 40 ? step_seconds - 30 : 10))
    } | tee "$results"
}

# ---- all of them ----

if [[ -n $step ]]; then
    "step_$step"
    exit
fi

summary=()
failures=0

# run_step NAME SECONDS: in a process of its own, which is ended with all its children when the time is over.
run_step() {
    local name=$1 limit=$2 start=$SECONDS status=0 verdict left=$((seconds_in_all - SECONDS))
    [[ -z $only || $only == *",$name,"* ]] || return 0
    [[ $limit -lt $left ]] || limit=$left
    echo "==> $name (at most $limit s)"
    if [[ $limit -gt 0 ]]; then
        timeout --kill-after=5 "$limit" "$self" --step "$name" "$limit" "$place" || status=$?
    else
        status=124
    fi
    case $status in
        0) verdict=passed ;;
        77) verdict=skipped ;;
        124 | 137) verdict="failed (out of time)" ;;
        *) verdict="failed (status $status)" ;;
    esac
    [[ $verdict != failed* ]] || failures=$((failures + 1))
    summary+=("$(printf '%6d s  %-10s %s' $((SECONDS - start)) "$name" "$verdict")")
}

mkdir -p "$folder" "$(dirname "$results")"
run_step build 170
run_step registers 10
run_step check 75
run_step captures 30
run_step suites 60
run_step squeeze 50
run_step timing 230
for tool in memcheck racecheck initcheck; do
    run_step "$tool" 30
done

echo
printf '%s\n' "${summary[@]}"
printf '%6d s  in all; tables: %s\n' "$SECONDS" "$results"
[[ $failures -eq 0 ]]
