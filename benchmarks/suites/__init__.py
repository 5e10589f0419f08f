"""The suites, by name, in the order in which ``run all`` takes them."""

from benchmarks.suites import (
    ablation,
    paper000_figure1,
    paper000_figures,
    paper000_tables23,
    paper000_tables45,
    paper001_figure1,
    paper001_table1,
    peers,
)

SUITES = {
    suite.name: suite
    for suite in (
        paper000_tables23.SUITE,
        paper000_figures.SUITE,
        paper000_tables45.SUITE,
        paper000_figure1.SUITE,
        paper001_figure1.SUITE,
        paper001_table1.SUITE,
        ablation.SUITE,
        peers.SUITE,
    )
}
