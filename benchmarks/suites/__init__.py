"""The suites, by name, in the order in which ``run all`` takes them."""

from benchmarks.suites import (
    ablation,
    classification_peers,
    paper000_figure1,
    paper000_figures,
    paper000_tables23,
    paper000_tables45,
    paper001_figure1,
    paper001_table1,
    paper002_figure1,
    paper002_figure4,
    paper002_table2,
    paper002_table3,
    paper002_table4,
    paper003,
    paper004,
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
        paper002_table2.SUITE,
        paper002_table3.SUITE,
        paper002_table4.SUITE,
        paper002_figure1.SUITE,
        paper002_figure4.SUITE,
        paper003.SUITE,
        ablation.SUITE,
        peers.SUITE,
        paper004.SUITE,
        classification_peers.SUITE,
    )
}
