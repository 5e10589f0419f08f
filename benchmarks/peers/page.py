"""The page of the suite of peers: findings, densities, errors, seconds, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import pages
from benchmarks.frame import Record, Suite
from benchmarks.peers.calibration import calibration_section
from benchmarks.peers.comparison import EARLIER, title_of
from benchmarks.peers.findings import findings
from benchmarks.peers.picture import picture
from benchmarks.peers.tables import density_table, error_table, score_table, seconds_section


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """Write the page."""
    lines = [
        f"# {suite.title}",
        "",
        *introduction(suite, records),
        "## Findings",
        "",
        *findings(suite, records),
        "## Negative log predictive density",
        "",
        "Nats, of the standardised target; smaller is better. Bold: the best sparse GP; * "
        "significantly worse than it (paired t-test over the partitions at 0.05; few partitions "
        "show large differences only).",
        "",
        *picture(suite, records, folder),
        "Each point is a method's mean over the partitions that both have; hollow: not a sparse "
        "Gaussian process. What is further out than the picture stands at its edge.",
        "",
        *density_table(suite, records),
        "## Continuous ranked probability score",
        "",
        "In units of the standardised target; smaller is better. Marks as above. Over the "
        "partitions whose runs recorded it: older runs did not.",
        "",
        *score_table(suite, records),
        "## Normalised mean squared error",
        "",
        "In hundredths. Bold: the best sparse GP; ≈ within 2 % of it, or better.",
        "",
        *error_table(suite, records),
        "## Seconds",
        "",
        *seconds_section(suite, records),
        "## Calibration",
        "",
        *calibration_section(suite, records, folder),
        *provenance(suite, records),
    ]
    return pages.write_page(folder, suite, lines)


def introduction(suite: Suite, records: Sequence[Record]) -> list[str]:
    """What was compared, and how."""
    return [
        "`SparseGPRegressor(max_basis=m, random_state=partition)`, nothing else set, beside other "
        "libraries on the same random partitions, each run on one thread. Training rows: four "
        "fifths of the set, at most 10000; test rows: the rest, at most 10000. Inputs and target "
        "are standardised on the training part. m = 200 basis vectors (inducing inputs), a tenth "
        "of the training rows where those are fewer than 2000. Mean ± standard deviation over "
        "partitions.",
        "",
        "The peers among the sparse GPs are those of GPflow and GPyTorch. They have an ARD "
        "Gaussian kernel and trained inducing inputs, and start from k-means centres, length "
        "scales sqrt(d), variance 1, noise 0.1: GPflow's SGPR and FITC with 100 iterations of "
        "L-BFGS; GPflow's heteroscedastic SVGP (a GP for the mean and a GP for the log of the "
        "noise, m inducing inputs each) with 1500 steps on batches of 512, natural gradients (0.1) "
        "in turn with Adam at 0.01; GPyTorch's SGPR (float64, Cholesky, its own diagonal "
        "correction in predictions, as it comes) with 100 steps of Adam at 0.05; GPyTorch's SVGP "
        "(float64) with about 1500 steps of Adam at 0.01 on batches of 512.",
        "",
        "Not sparse GPs: scikit-learn's exact GP (ARD Gaussian, noise learnt; up to 1500 training "
        "rows only), its histogram gradient boosting, CatBoost with the loss RMSEWithUncertainty, "
        "NGBoost, all three with early stopping on a tenth of the training rows, and "
        "scikit-learn's SVR (C, gamma, epsilon by a 3-fold grid on at most 2000 rows). The boosted "
        "trees of scikit-learn and SVR predict no distribution: their standard deviation is the "
        "root of the mean squared error on a held-out tenth of the training rows, the same for all "
        "test rows.",
        "",
        f"{title_of(suite, EARLIER)} is the default of an earlier version. Its runs are stored and "
        "cannot be repeated with this version.",
        "",
        "The rule for new defaults: they are chosen with the sets under *chosen on* in view; those "
        "under *reported on* are then run once, and nothing is tuned again. Version 0.1.0 had been "
        "run on all sets before these halves were named.",
        "",
        pages.partitions_line(suite, records),
        "",
    ]


# Provenance --------------------------------------------------------------------------------------


def provenance(suite: Suite, records: Sequence[Record]) -> list[str]:
    """The frame's lines, with the peers' environments and versions after them."""
    lines = [
        *pages.provenance(suite, records),
        "",
        "The peers' environments are made before, from pinned requirements, by",
        "",
        "```",
        "python -m benchmarks.peers.environments",
        "```",
        "",
    ]
    for method in suite.methods:
        kinds = {
            ", ".join(f"{name} {version}" for name, version in r["peer_versions"].items())
            for r in records
            if r["method"] == method.name and r.get("peer_versions")
        }
        lines += [f"- {method.title}: {kind}" for kind in sorted(kinds)]
    return lines
