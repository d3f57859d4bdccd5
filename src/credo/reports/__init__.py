"""Reports: everything a person wants to know of a fitted model, as data first, as a page or for a terminal second.

`build`        `report`, `comparison_report`: the sections below, together
`rows`         the rows it is made from, and predictions of rows held out
`reading`      what was read and decided
`belief`       what the model believes
`calibration`  do predictions come true
`uncertainty`  where doubt comes from along the main columns
`noise`        does the noise model hold
`decision`     an example of acting on predictions
`density`      the values of a column
`checking`     a check of a model as a page
`sensitivity`  what an answer of a network hangs on, as a page
`topics`       topics as cards, and how the fit went
`study`, `study_words`, `study_left`, `study_sampler`, `study_origin`  a study: what to do, whether to go on, what was
    tried; `study_page`, `study_terminal` the same as a page and for a terminal
`page`         one self-contained HTML page
`terminal`     the same for a terminal
`svg`, `style`, `markup`  charts as SVG, the style sheet, markup escaped by construction
"""

from credo.reports.build import Report, comparison_report, report
from credo.reports.checking import check_html, write_check_html
from credo.reports.page import to_html, write_html
from credo.reports.sensitivity import sensitivity_html, write_sensitivity_html
from credo.reports.study import StudyReport, study_report
from credo.reports.study_page import study_html, write_study_html
from credo.reports.study_terminal import study_lines
from credo.reports.terminal import lines

__all__ = [
    "report", "comparison_report", "Report", "to_html", "write_html", "lines",
    "check_html", "write_check_html",
    "sensitivity_html", "write_sensitivity_html",
    "StudyReport", "study_report", "study_html", "write_study_html", "study_lines",
]  # fmt: skip
