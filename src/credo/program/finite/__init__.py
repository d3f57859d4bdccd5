"""Latent nodes with finitely many values: their states are summed out, and drawn afterwards.

`states`             which nodes these are, and their values
`dependence`         which cells of them each cell of an expression depends on
`substitution`       expressions at given states
`tables`, `sources`  the model's factors as tables of log densities, one axis a state
`elimination`        Σ over all states of a product of tables, its slopes, its marginals, draws
`scan`, `chain`      the same forward and backward along hidden Markov chains; their law
`operation`          that sum as an operation of a model
`posterior`          probabilities of states, states of new cells
`labels`, `ordered`  labels that nothing tells apart; vectors in increasing order
"""
