"""What turns a declared model into numeric problems, one small pass a file; each says what it did.

`affine`     expressions as Σ g(θ) M z + Σ h(θ) c
`collapse`   the largest set of latent nodes that can be integrated out as one linear-Gaussian block
`factors`    that block's rows as the engine takes them
"""
