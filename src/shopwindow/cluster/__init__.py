"""Stages of a build on many machines: an Executor over a cluster of Dask's."""
