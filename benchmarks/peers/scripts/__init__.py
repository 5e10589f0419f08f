"""The scripts of the peers: each fits and predicts in its own environment, imports nothing of ours
but :mod:`benchmarks.peers.exchange`.
"""
