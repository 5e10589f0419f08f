"""What all tests share: examples of hypothesis that are the same on every machine."""

import os

from hypothesis import settings

# A run is judged by its tests, not by the machine: no time limit for an example, and the same
# examples each time. `make test-everywhere` also looks at other examples.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("GREEDYGP_HYPOTHESIS", "same"))
