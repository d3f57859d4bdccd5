"""The page's style: the colours of `credo.plots.theme`, light and dark, a narrow screen and paper."""

from __future__ import annotations

from credo.plots.theme import ROLES, THEMES

__all__ = ["style"]

_PAGE = """
:root{color-scheme:light dark}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header,main,footer{max-width:60rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.3;margin:3rem 0 .4rem;padding-top:1.1rem;border-top:1px solid var(--grid);letter-spacing:-.01em}
h3{font-size:1rem;line-height:1.4;margin:1.6rem 0 .3rem;overflow-wrap:anywhere}
p,ul,ol{max-width:44rem;margin:.5rem 0 .8rem;overflow-wrap:break-word}
.lead{font-size:1.1rem;max-width:44rem}
.note,figcaption,.muted{color:var(--muted)}
.note{font-size:.92rem}
a{color:var(--primary);text-underline-offset:.15em}
a:focus-visible,[tabindex]:focus-visible,summary:focus-visible{outline:2px solid var(--primary);outline-offset:3px;border-radius:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--ground);padding:.5rem 1rem;z-index:1}
nav ol{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:1.2rem 0 0;max-width:none}
nav a{display:inline-block;padding:.15rem 0;font-size:.92rem}
dl.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.5rem,1fr));gap:1rem 1.2rem;margin:1.5rem 0 0}
.facts dt{color:var(--muted);font-size:.85rem}
.facts dd{margin:0;font-size:1.15rem;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1.5rem 2.2rem;margin:1rem 0;align-items:start}
figure{margin:1rem 0;max-width:32rem;break-inside:avoid;min-width:0}
.charts figure{margin:0}
figure h3{margin:0 0 .35rem}
figcaption{font-size:.88rem;line-height:1.45;margin-top:.3rem}
svg.chart{display:block;width:100%;height:auto;overflow:visible}
.caption{color:var(--muted);font-size:.9rem;margin:1.4rem 0 .3rem}
.scroll{overflow-x:auto;margin:0 0 1rem;max-width:100%}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem 1.1rem .35rem 0;border-bottom:1px solid var(--grid);vertical-align:top}
thead th{font-weight:600;color:var(--muted);border-bottom:1px solid var(--muted);white-space:nowrap}
tbody th{font-weight:500;min-width:5rem;max-width:24rem;overflow-wrap:break-word}
.n{text-align:right;white-space:nowrap}
tr.chosen th,tr.chosen td{font-weight:650}
.verdict{font-weight:650;white-space:nowrap}
.good{color:var(--primary)}.bad{color:var(--secondary)}.weak{color:var(--muted)}
.box{border-left:3px solid var(--primary);padding:.1rem 0 .1rem 1rem;margin:1rem 0;max-width:44rem}
.box.warn{border-color:var(--secondary)}
.box p{margin:.3rem 0}
pre{overflow-x:auto;background:var(--panel);padding:.8rem 1rem;border-radius:6px;font:.88rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:100%}
.checks{list-style:none;padding:0}
.checks li{padding:.5rem 0;border-bottom:1px solid var(--grid)}
.checks p{margin:0}
details{margin:.8rem 0}
summary{cursor:pointer;color:var(--primary);display:inline-block;padding:.15rem 0}
footer{padding-top:2rem;padding-bottom:3rem;color:var(--muted);font-size:.9rem}
.chart text{font-size:12.5px;font-family:inherit}
.chart .grid{stroke:var(--grid);stroke-width:1;fill:none}
.chart .axis{stroke:var(--muted);stroke-width:1;fill:none}
.a-middle{text-anchor:middle}.a-end{text-anchor:end}
@media (max-width:34rem){
body{font-size:15.5px}
header{padding-top:1.5rem}
h1{font-size:1.55rem}
h2{margin-top:2.2rem}
table{font-size:.86rem}
th,td{padding-right:.75rem}
header,main,footer{padding-left:1rem;padding-right:1rem}
}
@media print{
nav,.skip{display:none}
body{font-size:10.5pt}
header,main,footer{max-width:none;padding:0}
h2,h3{break-after:avoid}
table,figure,.box{break-inside:avoid}
.scroll{overflow:visible}
.charts{grid-template-columns:1fr 1fr}
a{color:inherit}
}
"""


def style() -> str:
    """The style sheet."""
    light, dark = _variables("light", "#f5f7f9"), _variables("dark", "#1e2327")
    return (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        # Ink is dear, and paper is white whatever the screen was.
        f"@media print{{:root{{{light}}}}}\n{_PAGE}{_roles()}"
    )


def _variables(theme: str, panel: str) -> str:
    return "".join(f"--{role}:{colour};" for role, colour in {**THEMES[theme], "panel": panel}.items())


def _roles() -> str:
    rules = []
    for role in ROLES:
        colour = f"var(--{role})"
        rules.append(f".f-{role}{{fill:{colour};stroke:none}}")
        rules.append(f".s-{role}{{stroke:{colour};fill:none;stroke-linejoin:round}}")
        rules.append(f".h-{role}{{stroke:{colour};fill:var(--ground)}}.t-{role}{{fill:{colour}}}")
    return "\n".join(rules)
