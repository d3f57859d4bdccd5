"""Networks as pictures: SVG and HTML of their own.

`layers`     which layer a node is in, and the order within it: few crossings
`places`     where it stands: short, straight arrows
`words`      text as XML
`boxes`      a node as a box: name, states, bars
`picture`    `Picture`: all of it as SVG, light and dark; `network_svg`, `network_html`
`notebook`   what `BayesianNetwork` calls: `picture`, `notebook_html`
"""

from credo.models.network.drawing.notebook import notebook_html, picture
from credo.models.network.drawing.picture import Picture, network_html, network_svg

__all__ = ["Picture", "network_html", "network_svg", "notebook_html", "picture"]
