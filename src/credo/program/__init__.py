"""`Model`: nodes, passes, `explain`, and formulas (`formula/`)."""
