"""`python -m greedygp` is the command `greedygp`."""

from greedygp.cli import main

main()
