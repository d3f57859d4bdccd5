"""Credo and its peers, side by side in one run: `python -m benchmarks [NAME ...] [--peers PYTHON]`.

`case`      what a benchmark file declares: its data, its contestants, what quality means, the ratios wanted
`cases/`    one benchmark a file
`harness`   starts one process a contestant and takes turns between them
`worker`    runs inside those processes
`machine`   where and with what versions a run took place
`results`   RESULTS.md, one section a case

The parent process imports neither NumPy nor any contestant, so that nothing it holds is counted as theirs.
"""
