// Code and tables that scroll sideways scroll by keyboard too. The theme gives code a tab stop only where there is a
// mouse, and takes it away elsewhere; tables get none.
addEventListener("load", () => {
  const boxes = [...document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset p:has(> img)")];
  const reach = box => { if (box.scrollWidth > box.clientWidth && box.tabIndex < 0) box.tabIndex = 0; };
  const theme = new MutationObserver(changes => changes.forEach(change => reach(change.target)));
  for (const box of boxes) {
    reach(box);
    theme.observe(box, {attributes: true, attributeFilter: ["tabindex"]});
  }
  // A button to copy is no way through the site: a list of landmarks need not hold one for each block of code.
  document.querySelectorAll("nav.md-code__nav").forEach(nav => nav.setAttribute("role", "none"));
  addEventListener("resize", () => boxes.forEach(reach));
});
