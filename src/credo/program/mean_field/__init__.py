"""Mean field by name: q(latents) = Π q_k, each of the family of its conditional, raised coordinate by coordinate.

`families`   exponential families that are made from the model: row-wise Normal blocks, powers, Pólya–Gamma, probit
`terms`      E_q of the laws' log densities, multilinear in the moments of the q_k
`build`      both from the declared laws, or why not
`fit`        ascent, draws of q, and the certificate
"""

from credo.program.mean_field.fit import explain_mean_field, fit_mean_field

__all__ = ["explain_mean_field", "fit_mean_field"]
