"""How a card looks.

`plain`     a table of its parameters, or a picture that the page draws itself
`template`  the user's HTML, SVG or canvas, in a frame that can reach nothing
`command`   a picture or video made by a program; `queue`: programs waiting, running, remembered
`making`    settings → renderer
"""
