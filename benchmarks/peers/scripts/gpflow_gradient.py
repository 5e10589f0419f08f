"""Seconds of one value and gradient of GPflow's SGPR, by all that is trained, compiled.

Options: those of ``gpflow_sgpr``, and ``repeats``. Nothing is predicted; the facts hold
``seconds``, one number for each repeat after a first call that compiles.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks.peers.exchange import Answer, read_request, write_answer
from benchmarks.peers.scripts.gpflow_sgpr import limit_threads, make_model


def main() -> None:
    request = read_request(Path(sys.argv[1]))
    limit_threads(request.options["threads"])
    model = make_model(request)
    variables = model.trainable_variables

    @tf.function
    def value_and_gradient() -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = model.training_loss()
        return loss, tape.gradient(loss, variables)

    seconds = []
    for _ in range(1 + request.options["repeats"]):
        start = time.perf_counter()
        loss, gradients = value_and_gradient()
        loss.numpy(), [np.asarray(g) for g in gradients]
        seconds.append(time.perf_counter() - start)
    nothing = np.empty(0)
    write_answer(Path(sys.argv[2]), Answer(nothing, nothing, {"seconds": seconds[1:]}))


if __name__ == "__main__":
    main()
