"""The records of learning in rounds."""

import numpy as np

from greedygp.rounds import FIELDS, Learnt, Round, trace_of


def test_the_fields_are_those_of_a_round():
    assert (*FIELDS.names, "trace") == Round._fields


def test_rounds_as_an_array():
    learnt = Learnt(point=None, value=1.0)
    assert len(learnt.rounds_array()) == 0
    learnt.rounds.append(Round(n_basis=3, value_before=2.0, value=1.0, n_iter=7, seconds=0.5))
    array = learnt.rounds_array()
    assert array.dtype == FIELDS
    assert array[0].item() == (3, 2.0, 1.0, 7, 0.5)
    assert array["n_basis"].dtype == np.int64


def test_traces_of_rounds():
    learnt = Learnt(point=None, value=1.0)
    assert len(learnt.trace_array()) == 0
    learnt.rounds += [Round(3, 2.0, 1.0, 1, 0.5, (2.0, 1.0)), Round(3, 1.5, 1.5, 0, 0.5, (1.5,))]
    assert learnt.trace_array().tolist() == [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.5)]
    assert trace_of([]).dtype.names == ("round", "iteration", "value")
