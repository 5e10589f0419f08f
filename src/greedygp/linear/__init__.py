"""Sparse linear models over a dictionary of basis functions, chosen by GCV or by the evidence.

From the bottom up: `dictionary` (the candidate columns), `state` (the model), `criteria` and
`candidates` (what a change is worth), `selection` and its neighbours (uses of the greedy loop),
`algorithms` (their parameters), `laplace` and `labels` (two classes), `width` and `fitting` (the
stages of a fit), `posterior` (predictions), and the estimators.
"""
