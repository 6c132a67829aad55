#!/usr/bin/env python3
"""torch_eager.py - PyTorch eager on the GPU as a contender of timing.py; speaks as serve.c does, over stdin and stdout:
   load TOPOLOGY.json IMAGES BATCH GENOME.json -> loaded LOGIT ...   the first 16; the same weights go to GENOME.json; one warm run
   tf32 0|1                                   -> ok                  1 is what PyTorch does unless told otherwise
   run                                        -> SECONDS             all images, BATCH at once, logits on the host
Ends with 77 and a line where there is no PyTorch or no GPU for it."""

import os
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: no PyTorch here")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers"))
import compare  # pylint: disable=wrong-import-position


def read_out(topology, values):
    """As compare.read_out, on the GPU. torch.median is the lower middle."""
    readout = topology.raw["output_readout"]
    if readout == "sum":
        return values.sum(1)
    return values.mean(1) - (values.median(1).values if readout == "mean_minus_median" else 0)


class Contender:
    def __init__(self):
        self.images = self.model = self.topology = None
        self.batch = 0

    def load(self, path, count, batch, genome):
        self.topology, self.batch = compare.Topology(path), batch
        self.topology.write(genome)
        size = (self.topology.channels[self.topology.input],) + (self.topology.size[self.topology.input],) * 2
        if self.images is None or self.images.shape != (count, *size):
            self.images = torch.tensor(compare.images(count, size)).cuda()
        self.model = compare.torch_model(self.topology).cuda()
        logits = self.run()
        return " ".join(["loaded", *(f"{value:.9g}" for value in logits[:16].tolist())])

    def run(self):
        parts = [read_out(self.topology, self.model(part)) for part in self.images.split(self.batch)]
        return torch.cat(parts).cpu()

    def timed(self):
        torch.cuda.synchronize()
        start = time.perf_counter()
        self.run()
        torch.cuda.synchronize()
        return time.perf_counter() - start


def answer(contender, words):
    if words[0] == "load":
        return contender.load(words[1], int(words[2]), int(words[3]), words[4])
    if words[0] == "tf32":
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = words[1] == "1"
        return "ok"
    return f"{contender.timed():.9f}"


def main():
    torch.set_grad_enabled(False)
    contender = Contender()
    for line in sys.stdin:
        print(answer(contender, line.split()), flush=True)


if __name__ == "__main__":
    main()
