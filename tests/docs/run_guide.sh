#!/usr/bin/env bash
# run_guide.sh GUIDE BUILD SHARED: does what the user guide says, in an empty folder that is also the home: writes each
# ```json NAME or ```c NAME block to its file, runs each line of each ```sh block, with BUILD in place of build/quickstart. SHARED may
# hold real images; without it made-up ones take their place.
set -euo pipefail
guide=$(realpath "$1") build=$(realpath "$2") shared=$(realpath -m "$3")
folder=$(mktemp -d)
export HOME=$folder PATH=$folder/.local/bin:$PATH
unset HOX_PLUGIN_PATH XDG_DATA_HOME
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The archive that a reader would fetch: five training files and one test file in the binary layout.
make_cifar_archive() {
    local train=$shared/data/cifar10_train_4000.bin test=$shared/data/cifar10_test_1000.bin
    mkdir cifar-10-batches-bin
    if [[ ! -r $train || ! -r $test ]]; then
        echo "made-up records instead of real images: there is no $train"
        train=$folder/train.bin test=$folder/test.bin
        python3 - "$train" 1000 "$test" 200 <<'PYTHON'
import random, sys
random.seed(1)
for path, count in ((sys.argv[1], int(sys.argv[2])), (sys.argv[3], int(sys.argv[4]))):
    with open(path, "wb") as file:
        for i in range(count):
            file.write(bytes([i % 10]) + random.randbytes(3072))
PYTHON
    fi
    local records=$(($(stat -c %s "$train") / 3073 / 5)) i
    for i in 1 2 3 4 5; do
        dd if="$train" of="cifar-10-batches-bin/data_batch_$i.bin" bs=3073 count="$records" \
            skip=$(((i - 1) * records)) status=none
    done
    cp "$test" cifar-10-batches-bin/test_batch.bin
    tar czf cifar-10-binary.tar.gz cifar-10-batches-bin
    rm -r cifar-10-batches-bin
}

# Cats are dark above, dogs dark below; plain PNG needs nothing but zlib.
make_pictures() {
    python3 - <<'PYTHON'
import os, random, struct, zlib
def png(path, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 20, 20, 8, 0, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))) + chunk(b"IEND", b""))
random.seed(2)
for split, count in (("train", 40), ("test", 10)):
    for name in ("cat", "dog"):
        os.makedirs(f"pictures/{split}/{name}")
        for i in range(count):
            png(f"pictures/{split}/{name}/{i}.png",
                [[random.randrange(120) + 100 * ((y < 10) == (name == "dog")) for x in range(20)] for y in range(20)])
PYTHON
}

make_cifar_archive
make_pictures

# 1 = in a block to run, a file name = in a block to write, empty = prose.
state="" count=0
while IFS= read -r line; do
    case $line in
        '```sh') state=1 ;;
        '```json '* | '```c '*) state=${line##* } && : >"$state" ;;
        '```'*) state="" ;;
        *)
            if [[ $state == 1 ]]; then
                echo "\$ $line"
                bash -c "${line//build\/quickstart/$build}" </dev/null || { echo "the guide's command failed: $line"; exit 1; }
                count=$((count + 1))
            elif [[ -n $state ]]; then
                printf '%s\n' "$line" >>"$state"
            fi
            ;;
    esac
done <"$guide"
[[ $count -ge 15 ]] || { echo "only $count commands were found in the guide"; exit 1; }
for run in first second airplanes pictures; do
    [[ -s runs/$run/champion/genome.json ]] || { echo "runs/$run holds no champion"; exit 1; }
done
echo "$count commands ran"
