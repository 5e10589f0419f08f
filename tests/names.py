"""Names of the public interface, written out here so that the tests notice a change."""

CRITERIA = (
    "random",
    "info_gain",
    "matching_pursuit",
    "nlpp",
    "nlml",
    "loo_cve",
    "nlgpp",
    "gpe",
)
APPROXIMATIONS = ("sor", "dtc", "fitc")
OBJECTIVES = ("nlml", "vfe", "loo_cve", "nlgpp", "gpe")
DENSE_OBJECTIVES = tuple(name for name in OBJECTIVES if name != "vfe")
