"""One benchmark a file, each defining `CASE` (see `benchmarks.case`)."""
