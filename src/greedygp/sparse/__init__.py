"""Regression with a basis: sparse Gaussian processes (SoR, DTC, FITC)."""
