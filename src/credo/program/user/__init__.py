"""Functions of the user's own as operations of a model: `cr.math.call`, `m.deterministic`, `m.potential`.

`operation` : the operation, by JAX or by differences. `compiled` : JAX is imported here. `declared` : what is checked
when one is declared. `ode` : solutions of ordinary differential equations.
"""
