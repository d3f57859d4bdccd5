"""Makes `asia_400.csv` and `asia_400.scores.json`: run by hand, with mpmath and NumPy; nothing of Credo is used.

The rows are drawn from the chest clinic of Lauritzen and Spiegelhalter (1988, JRSS B 50, p. 163), with more visits to
Asia and more tuberculosis, so that 400 rows show every state. Scores are sums of
logarithms and log-gammas of counts taken with `collections.Counter`, in 40 digits.
"""

import csv
import json
from collections import Counter
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 40
HERE = Path(__file__).parent
PARENTS = {
    "asia": [], "smoke": [], "tub": ["asia"], "lung": ["smoke"], "bronc": ["smoke"], "either": ["lung", "tub"],
    "xray": ["either"], "dysp": ["bronc", "either"],
}  # fmt: skip
YES = {
    "asia": lambda r: 0.2, "smoke": lambda r: 0.5, "tub": lambda r: 0.3 if r["asia"] else 0.1,
    "lung": lambda r: 0.1 if r["smoke"] else 0.01, "bronc": lambda r: 0.6 if r["smoke"] else 0.3,
    "either": lambda r: float(r["lung"] or r["tub"]), "xray": lambda r: 0.98 if r["either"] else 0.05,
    "dysp": lambda r: (0.9 if r["bronc"] else 0.7) if r["either"] else (0.8 if r["bronc"] else 0.1),
}  # fmt: skip


def rows(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        row = {}
        for node, p in YES.items():
            row[node] = int(rng.random() < p(row))
        yield {node: "yes" if row[node] else "no" for node in sorted(row)}


def scores(data, child, parents):
    joint = Counter((*(row[p] for p in parents), row[child]) for row in data)
    above = Counter(tuple(row[p] for p in parents) for row in data)
    q, r = 2 ** len(parents), 2
    loglik = sum(n * mp.log(mp.mpf(n) / above[key[:-1]]) for key, n in joint.items())

    def evidence(a):
        rows = sum(mp.loggamma(r * a) - mp.loggamma(r * a + n) for n in above.values())
        return rows + sum(mp.loggamma(a + n) - mp.loggamma(a) for n in joint.values())

    k = q * (r - 1)
    values = {
        "log_likelihood": loglik, "aic": loglik - k, "bic": loglik - mp.log(len(data)) * k / 2,
        "bdeu_1": evidence(mp.mpf(1) / (q * r)), "bdeu_10": evidence(mp.mpf(10) / (q * r)), "k2": evidence(mp.mpf(1)),
    }  # fmt: skip
    return {name: float(value) for name, value in values.items()}


if __name__ == "__main__":
    data = list(rows(400, 11))
    with open(HERE / "asia_400.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, sorted(PARENTS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(data)
    known = {node: {"parents": above, **scores(data, node, above)} for node, above in sorted(PARENTS.items())}
    empty = {node: {"parents": [], **scores(data, node, [])} for node in sorted(PARENTS)}
    (HERE / "asia_400.scores.json").write_text(json.dumps({"known": known, "empty": empty}, indent=1) + "\n")
