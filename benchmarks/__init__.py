"""Measurements and trials that take too long for the tests: run them with `python -m
benchmarks.NAME`.
"""
