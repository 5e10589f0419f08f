"""The suites, by name, in the order in which ``run all`` takes them."""

from benchmarks.suites import paper000_figures, paper000_tables23, paper001_figure1

SUITES = {
    suite.name: suite
    for suite in (paper000_tables23.SUITE, paper000_figures.SUITE, paper001_figure1.SUITE)
}
