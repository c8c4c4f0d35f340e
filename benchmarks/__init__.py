"""Benchmarks: speed against a floor of the same run, and retrieval of evidence for questions with known answers.

`python -m benchmarks --help`, in a checkout, lists them; no wheel holds them.
"""
