"""The suites, by name, in the order in which ``run all`` takes them."""

from benchmarks.suites import (
    ablation,
    adaptive_candidates,
    classification_peers,
    fast_gcv,
    full_gp_beside_sparse,
    full_gp_growth,
    full_gp_neighbours,
    full_gp_poses,
    full_gp_solvers,
    full_gp_variances,
    intervals,
    matching_pursuit_kin40k,
    matching_pursuit_learnt,
    peers,
    predictive_fixed,
    predictive_learnt,
    predictive_paths,
    predictive_rounds,
    sparse_classification,
    sparse_classification_learnt,
    untouched,
)

SUITES = {
    suite.name: suite
    for suite in (
        predictive_fixed.SUITE,
        predictive_paths.SUITE,
        predictive_learnt.SUITE,
        predictive_rounds.SUITE,
        matching_pursuit_kin40k.SUITE,
        matching_pursuit_learnt.SUITE,
        full_gp_solvers.SUITE,
        full_gp_variances.SUITE,
        full_gp_beside_sparse.SUITE,
        full_gp_poses.SUITE,
        full_gp_neighbours.SUITE,
        full_gp_growth.SUITE,
        fast_gcv.SUITE,
        ablation.SUITE,
        intervals.SUITE,
        peers.SUITE,
        untouched.SUITE,
        sparse_classification.SUITE,
        sparse_classification_learnt.SUITE,
        adaptive_candidates.SUITE,
        classification_peers.SUITE,
    )
}
