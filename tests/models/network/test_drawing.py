"""Pictures of networks: layers and places against brute force and a solver; SVG that parses and says all."""

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from credo.errors import ParameterError, UnavailableError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.drawing import Picture, network_html, network_svg, notebook_html, picture
from credo.models.network.drawing.boxes import box_of, percentage
from credo.models.network.drawing.layers import crossings, layered
from credo.models.network.drawing.places import spaced, spread
from credo.models.network.files import read_network
from credo.models.network.network import BayesianNetwork

DATA = Path(__file__).parents[2] / "data" / "bayesnets"
SVG = "{http://www.w3.org/2000/svg}"


def random_parents(rng, n, most=3):
    return [tuple(rng.choice(i, min(i, rng.integers(0, most + 1)), replace=False).tolist()) for i in range(n)]


def random_network(rng, n):
    parents = {f"v{i}": tuple(f"v{p}" for p in family) for i, family in enumerate(random_parents(rng, n))}
    states = dict.fromkeys(parents, ("a", "b"))
    tables = {node: np.full((2,) * (len(family) + 1), 0.5) for node, family in parents.items()}
    return NetworkDefinition(states, parents, tables)


@pytest.mark.parametrize("seed", range(20))
def test_every_arrow_points_down_through_each_layer_once(seed):
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, int(rng.integers(1, 30)))
    graph = layered(parents, range(len(parents)))
    level = {item: i for i, layer in enumerate(graph.layers) for item in layer}
    assert len(level) == sum(map(len, graph.layers))  # every item in one place
    assert set(range(len(parents))) <= set(level)
    assert set(graph.routes) == {(p, child) for child, family in enumerate(parents) for p in family}
    for (parent, child), route in graph.routes.items():
        assert (route[0], route[-1]) == (parent, child)
        assert [level[item] for item in route] == list(range(level[parent], level[child] + 1))
        assert all(item >= len(parents) for item in route[1:-1])


def test_crossings_against_pairs_of_segments():
    rng = np.random.default_rng(0)
    for _ in range(50):
        above, below = rng.permutation(5).tolist(), (5 + rng.permutation(5)).tolist()
        links = [(a, b) for a in above for b in below if rng.random() < 0.4]
        lines = [(above.index(a), below.index(b)) for a, b in links]
        wanted = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(lines, 2))
        assert crossings(above, below, links) == wanted


def total(graph):
    between = [
        [(a, b) for a, b in graph.links if a in above and b in below]
        for above, below in itertools.pairwise(graph.layers)
    ]
    return sum(crossings(*pair, links) for pair, links in zip(itertools.pairwise(graph.layers), between, strict=True))


def test_few_crossings():
    """Of random bipartite graphs, small enough to try all orders: all but one in ten have the fewest crossings."""
    rng = np.random.default_rng(1)
    best = 0
    for _ in range(20):
        links = {(a, b) for a in range(4) for b in range(4) if rng.random() < 0.5} | {(0, 0), (3, 3)}
        links |= {(0, b) for b in range(4) if not any((a, b) in links for a in range(4))}
        matrix = np.zeros((4, 4), dtype=int)
        matrix[tuple(zip(*links, strict=True))] = 1
        graph = layered([()] * 4 + [tuple(a for a in range(4) if matrix[a, b]) for b in range(4)], range(8))
        assert len(graph.layers) == 2
        best += total(graph) == min(
            crossed(matrix[np.ix_(rows, columns)])
            for rows in itertools.permutations(range(4))
            for columns in itertools.permutations(range(4))
        )
    assert best >= 18


def crossed(matrix):
    """Σ over entries of those to the right and above: pairs of links that cross."""
    later = matrix[::-1].cumsum(axis=0)[::-1]
    return int(np.sum(matrix[:-1, 1:] * later[1:].cumsum(axis=1)[:, :-1]))


def test_a_tree_has_no_crossings():
    parents = [(), *(((i - 1) // 2,) for i in range(1, 31))]
    assert total(layered(parents, range(31))) == 0


@pytest.mark.parametrize("seed", range(10))
def test_places_are_optimal_and_apart(seed):
    """`spaced` against a general solver."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    wanted, weights, apart = rng.normal(size=n) * 3, rng.uniform(0.5, 5, n), rng.uniform(0.5, 2, n - 1)
    found = spaced(wanted, weights, apart)
    assert np.all(np.diff(found) >= apart - 1e-12)
    solved = minimize(
        lambda x: np.sum(weights * (x - wanted) ** 2), np.cumsum(np.r_[0, apart]), method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: np.diff(x) - apart}, options={"ftol": 1e-14},
    )  # fmt: skip
    np.testing.assert_allclose(found, solved.x, atol=1e-5)


def test_boxes_of_a_layer_do_not_overlap():
    rng = np.random.default_rng(3)
    parents = random_parents(rng, 25)
    graph = layered(parents, range(25))
    widths = dict(enumerate(rng.uniform(40, 200, 25)))
    x = spread(graph, widths, 25, 20.0)
    for layer in graph.layers:
        for a, b in itertools.pairwise(layer):
            room = (widths.get(a, 0) + widths.get(b, 0)) / 2
            assert x[b] - x[a] >= room + 10.0 - 1e-9


@pytest.mark.parametrize("name", ["asia", "alarm", "sprinkler", "cancer"])
def test_an_svg_parses_and_holds_every_node(name):
    network = BayesianNetwork.read(DATA / f"{name}.bif")
    marginals = network.marginals()
    root = ET.fromstring(network_svg(network.definition_, marginals))
    groups = [g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "").split()]
    assert len(groups) == len(network.nodes)
    assert len([p for p in root.iter(f"{SVG}path") if p.get("class") == "arrow"]) == len(network.edges)
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert all(node in desc.text for node in network.nodes)
    # The bars are as long as the states are probable.
    (group,) = [g for g in groups if g.find(f"{SVG}title").text.startswith(f"{network.nodes[0]}: ")]
    bars = {
        kind: [float(r.get("width")) for r in group.iter(f"{SVG}rect") if r.get("class") == kind]
        for kind in ("bar", "rail")
    }
    shares = np.array(bars["bar"]) / np.array(bars["rail"])
    np.testing.assert_allclose(shares, list(marginals[network.nodes[0]].values()), atol=2e-3)


def test_what_is_known_is_marked_in_words_too():
    asia = read_network(DATA / "asia.bif")
    svg = network_svg(asia, None, {"xray": "yes", "dysp": {"yes": 0.8, "no": 0.1}}, actions={"either": "yes"})
    root = ET.fromstring(svg)
    kinds = {g.find(f"{SVG}title").text.split(":")[0]: g.get("class").split()[1:] for g in root.iter(f"{SVG}g")}
    assert kinds["xray"] == ["observed"]
    assert kinds["dysp"] == ["soft"]
    assert kinds["either"] == ["set"]
    assert kinds["asia"] == []
    assert svg.count('class="arrow cut"') == 2  # lung and tub no longer act on it
    said = root.find(f"{SVG}desc").text
    assert said.startswith("Given xray is yes, dysp was seen with likelihoods, either is set to yes.")
    assert "xray = yes" in svg  # without bars the state stands beside the name


def test_strange_names_are_escaped():
    d = NetworkDefinition({'<b>&"x"': ("<", "&")}, {}, {'<b>&"x"': [0.5, 0.5]}, name="<script>")
    for text in (network_svg(d, {'<b>&"x"': {"<": 0.5, "&": 0.5}}), network_html(d)):
        assert "<script" not in text
        assert "<b>" not in text
    ET.fromstring(network_svg(d))


def test_sizes_from_one_node_to_a_hundred():
    rng = np.random.default_rng(0)
    for n in (1, 2, 40, 41, 100):
        d = random_network(rng, n)
        law = {node: {"a": 0.5, "b": 0.5} for node in d.nodes}
        svg = network_svg(d, law)
        ET.fromstring(svg)
        assert ('class="bar"' in svg) == (n <= 40)
        width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
        assert width > 40
        assert height > 20
    with pytest.raises(UnavailableError, match="301 nodes"):
        network_svg(random_network(rng, 301))


def test_many_states_leave_the_likeliest():
    law = dict(enumerate(np.arange(1, 11) / 55))
    box = box_of("x", tuple(law), law, (), (), True)
    assert [label for label, _ in box.rows] == ["3", "4", "5", "6", "7", "8", "9"]
    assert box.more == 3
    assert "0 0.01818" in box.tooltip


def test_percentages_are_never_certain_by_rounding():
    assert [percentage(p) for p in (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0)] == ["0", "<0.1", "50.0", ">99.9", "100"]


def test_a_picture_is_written_whole(tmp_path):
    asia = read_network(DATA / "asia.bif")
    picture = Picture.of(asia, None, {"xray": "yes"})
    for ending in ("svg", "html"):
        picture.write(tmp_path / f"a.{ending}")
    assert ET.parse(tmp_path / "a.svg").getroot().tag == f"{SVG}svg"
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "Given xray is yes." in page
    assert picture._repr_svg_() == picture.svg() == Picture.of(asia, None, {"xray": "yes"}).svg()


@pytest.mark.parametrize("what", ["marginals", "evidence", "actions"])
def test_unknown_nodes(what):
    asia = read_network(DATA / "asia.bif")
    with pytest.raises(ParameterError, match=f"{what} must be about nodes"):
        network_svg(asia, **{what: {"nobody": {}}})


def test_two_pictures_on_a_page_do_not_share_ids():
    asia, alarm = (read_network(DATA / f"{name}.bif") for name in ("asia", "alarm"))
    first, second = (set(re.findall(r' id="([^"]+)"', network_svg(d))) for d in (asia, alarm))
    assert not first & second


def test_what_a_notebook_shows():
    asia = BayesianNetwork.read(DATA / "asia.bif")
    assert 'class="bar"' in notebook_html(asia)
    drawn = picture(asia, {"xray": "yes"}, {"either": "no"}).svg()
    assert "node observed" in drawn
    assert "node set" in drawn
    narrow = BayesianNetwork.of(read_network(DATA / "alarm.bif"), memory_limit=100)
    assert 'class="bar"' not in notebook_html(narrow)  # names, rather than an error or an hour
    big = BayesianNetwork.of(random_network(np.random.default_rng(0), 301))
    assert notebook_html(big).startswith("<code>&lt;BayesianNetwork")


def texts_of(svg):
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.iterdir() if p.suffix in (".bif", ".net", ".bifxml")))
def test_every_picture_is_xml_whatever_was_seen(name):
    network = BayesianNetwork.read(DATA / name)
    for node in network.nodes[:12]:
        evidence = {node: network.states[node][-1]}
        if network.probability(evidence) > 0.0:
            drawn = picture(network, evidence)
            ET.fromstring(drawn.svg())
            ET.fromstring(re.search("<svg.*</svg>", drawn.html(), re.S).group())


def test_alarm_has_shares_below_what_is_printed():
    drawn = picture(BayesianNetwork.read(DATA / "alarm.bif"), {"HRBP": "HIGH"})
    assert "<0.1" in texts_of(drawn.svg())


def test_names_and_states_may_be_any_text():
    odd = '<a & "b">\x00\ud800'
    network = BayesianNetwork([(odd, "c")], {odd: {odd: 1e-5, "'": 1 - 1e-5}, "c": np.eye(2)}, name=odd)
    for drawn in (picture(network), picture(network, {"c": 1}), picture(network, {"c": [1.0, 2.0]}, {odd: odd})):
        ET.fromstring(drawn.svg())
        ET.fromstring(re.search("<svg.*</svg>", drawn.html(), re.S).group())
        drawn.html().encode()


def test_written_by_ending(tmp_path):
    drawn = picture(BayesianNetwork([], {"coin": [0.5, 0.5]}))
    with pytest.raises(ParameterError, match=r"Picture.write.path must be .* .svg or .html, got .*png"):
        drawn.write(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
