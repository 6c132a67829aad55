#!/usr/bin/env python3
"""torch_peer.py MODE TF32 - PyTorch on the GPU as a contender of timing.py. MODE: eager; graph (the same kernels as a CUDA graph of a
whole batch); compile (torch.compile). TF32: 1 is what PyTorch does unless told otherwise, 0 is fp32 throughout. Speaks as serve.c does:
says "ready", then answers a line on stdin with a line:
   load TOPOLOGY.json IMAGES BATCH GENOME.json -> loaded MFLOP LOGIT ...   the first 16; the same weights go to GENOME.json; warm runs
                                               -> failed: WHY
   run                                         -> SECONDS                  all images, BATCH at once, logits on the host
Ends with 77 and a line where there is no PyTorch or no GPU for it."""

import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")  # what libraries print goes elsewhere
os.dup2(2, 1)


def answer(line):
    print(line, file=answers, flush=True)


def skip(why):
    answer(f"skipped: {why}")
    sys.exit(77)


try:
    import torch
except ImportError:
    skip("no PyTorch here")
if not torch.cuda.is_available():
    skip("PyTorch sees no GPU")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers"))
import compare  # pylint: disable=wrong-import-position

WARM_RUNS = 3


def read_out(topology, values):
    """As compare.read_out, on the GPU. torch.median is the lower middle."""
    readout = topology.raw["output_readout"]
    if readout == "sum":
        return values.sum(1)
    return values.mean(1) - (values.median(1).values if readout == "mean_minus_median" else 0)


def record(forward, images):
    """The forward pass of so many images as a CUDA graph, as PyTorch's manual has it; shorter batches leave the end as it was."""
    place, side = images.clone(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_RUNS):
            forward(place)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = forward(place)

    def replay(part):
        place[:len(part)].copy_(part)
        graph.replay()
        return logits[:len(part)].clone()
    return replay


class Contender:
    def __init__(self, mode):
        self.mode, self.images, self.forward, self.batch = mode, None, None, 0

    def load(self, path, count, batch, genome):
        topology, self.batch, self.forward = compare.Topology(path), min(batch, count), None
        topology.write(genome)
        torch.cuda.empty_cache()
        size = (topology.channels[topology.input],) + (topology.size[topology.input],) * 2
        if self.images is None or self.images.shape != (count, *size):
            self.images = torch.tensor(compare.images(count, size)).cuda()
        model = compare.torch_model(topology).cuda()
        self.forward = self.ready(lambda part: read_out(topology, model(part)))
        logits = self.run()
        return " ".join(["loaded", f"{topology.flop * 1e-6:.6f}", *(f"{value:.9g}" for value in logits[:16].tolist())])

    def ready(self, forward):
        if self.mode == "graph":
            return record(forward, self.images[:self.batch])
        if self.mode == "compile":
            torch._dynamo.reset()
            return torch.compile(forward)
        return forward

    def run(self):
        return torch.cat([self.forward(part) for part in self.images.split(self.batch)]).cpu()

    def timed(self):
        torch.cuda.synchronize()
        start = time.perf_counter()
        self.run()
        torch.cuda.synchronize()
        return time.perf_counter() - start


def obey(contender, words):
    try:
        if words[0] == "load":
            return contender.load(words[1], int(words[2]), int(words[3]), words[4])
        return f"{contender.timed():.9f}"
    except Exception as problem:  # PyTorch's own, of many kinds: no memory, no compiler
        return "failed: " + " ".join(str(problem).split())[:160]


def main():
    torch.set_grad_enabled(False)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = sys.argv[2] == "1"
    contender = Contender(sys.argv[1])
    answer("ready")
    for line in sys.stdin:
        answer(obey(contender, line.split()))


if __name__ == "__main__":
    main()
