# SPDX-License-Identifier: Apache-2.0
"""Launches as dots, heat maps; and every picture taken out, as SVG and as PNG."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from assay.documents.report import take_out
from assay.schema.criteria import criteria_from_text
from assay.tests.campaign_texts import CRITERIA
from records.history.store import Store
from reports.notation.labels import BAD, GOOD, Look
from reports.notation.units import ReadableUnit
from reports.show import panel as panels
from reports.show.draw import PNG_DPI, svg_of, write_pictures
from reports.show.lines import line_of
from reports.show.panel import Axis, Heat, Mark, Panel, Picture, Scale, Series, heat_panel, shares
from reports.tests import acceptance_runs
from reports.tests.synthetic import quick_cases, write_run
from reports.tests.test_nightly_history import write_night
from reports.verdicts.acceptance.result import acceptance_result
from reports.verdicts.nightly.evidence import read_night
from reports.verdicts.nightly.judge import check_history
from reports.verdicts.nightly.result import night_result

LOOK = Look("#0072B2", "o", ())


@pytest.mark.parametrize("scale", [shares("the best"), panels.multiples("the best")])
def test_brighter_is_better_in_every_map(scale: Scale) -> None:
    shades = np.array([panels.SHADES(share)[:3] for share in np.linspace(0, 1, 64)])
    assert (np.diff(shades @ [0.2126, 0.7152, 0.0722]) > 0).all()
    beyond, middle = 2 * scale.dark - scale.bright, (scale.dark + scale.bright) / 2
    values = np.array([beyond, scale.dark, middle, scale.bright, np.nan])
    assert scale.place(values).tolist() == pytest.approx([0, 0, 0.5, 1, np.nan], nan_ok=True)


def test_a_map_outlines_culprits_and_writes_in_what_can_be_read() -> None:
    values = np.array([[1.0, 0.9], [0.5, np.nan]])
    texts = {(0, 0): "100 %", (1, 0): "50 %", (1, 1): "none"}
    scale = shares("the best")
    heat = Heat(["n1", "n2"], ["mem", "cpu"], values, scale, texts, {(1, 0)}, {"n2"})
    svg = svg_of(heat_panel("Nodes", "", heat, "n2 at 50 %"))
    assert {"100 %", "50 %", "none"} <= set(re.findall(r">\s*([^<>]+?)\s*</text>", svg))
    assert re.search(r'<text [^>]*?fill: ([^;"]+)[^>]*>([^<]+)', svg)
    assert svg.count(f"stroke: {BAD}") == svg.count(f"fill: {BAD}") == 1


def test_each_column_of_a_map_has_its_name_and_the_accused_one_is_red() -> None:
    names = [f"node-{n}" for n in range(9)]
    heat = Heat(["cpu"], names, np.ones((1, 9)), shares("the best"), named={"node-5"})
    svg = svg_of(heat_panel("Nodes", "", heat, "nine"))
    texts = re.findall(r"<text ([^>]*)>([^<]+)</text>", svg)
    assert [name for _, name in texts if name in names] == names
    assert [name for look, name in texts if BAD in look] == ["node-5"]


def all_right(written: list[Path], pictures: list[Picture]) -> None:
    """Each picture twice: an SVG with title, caption and footer, and a PNG of the same size."""
    assert len(written) == 2 * len(pictures) > 0
    assert len({path.name for path in written}) == len(written)
    for picture, svg, png in zip(pictures, written[::2], written[1::2], strict=True):
        text = svg.read_text()
        root = ElementTree.fromstring(text)  # noqa: S314
        shown = " ".join(" ".join(root.itertext()).split())
        words = picture.title.split()[0], picture.caption.split()[-1]
        for word in (*words, picture.footers[0].split()[-1], *picture.environments):
            assert word in shown
        assert "var(--" not in text
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        size = [float(root.attrib[key].removesuffix("pt")) for key in ("height", "width")]
        pixels = imread(png)
        assert pixels.shape[:2] == pytest.approx(np.array(size) / 72 * PNG_DPI, abs=2)
        assert 0.02 < (pixels[..., :3] < 0.9).any(axis=2).mean() < 0.98


@pytest.mark.full
def test_pictures_of_a_run_are_taken_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", quick_cases(("mpich", "lam")), blocks=6)
    written = take_out(run, tmp_path / "out")
    assert {path.suffix for path in written} == {".svg", ".png"}
    names = " ".join(path.name for path in written)
    assert all(part in names for part in ("score", "factors", "pt2pt"))


def test_pictures_of_a_night_are_taken_out(tmp_path: Path) -> None:
    with Store(tmp_path / "history.sqlite", create=True) as store:
        for number in range(1, 8):
            store.add(*read_night(write_night(tmp_path, number)))
        checked = check_history(store, "virtual", "quick")
    pictures = night_result(checked).pictures()
    titles = [picture.title.split(":")[0] for picture in pictures]
    assert titles == ["quick on virtual, night by night", "Trends"]
    all_right(write_pictures(pictures, {}, tmp_path / "out"), pictures)


def test_pictures_of_an_acceptance_are_taken_out(tmp_path: Path) -> None:
    run = acceptance_runs.write_run(tmp_path / "c", slow_node={"n2": 0.6})
    criteria = criteria_from_text("mine.yaml", CRITERIA)
    pictures = acceptance_result(acceptance_runs.dossier(run, criteria, CRITERIA)).pictures()
    all_right(write_pictures(pictures, {}, tmp_path / "out"), pictures)


@pytest.mark.parametrize("values", [[1e-5, 1.1e-5, 1.2e-5, 9e-6, 5e-3], [1e-5, 4e-2]])
def test_a_band_on_a_logarithmic_axis_stays_above_zero(values: list[float]) -> None:
    """s is greater than the mean: mean - s has no place on the axis."""
    mean, s = float(np.mean(values)), float(np.std(values, ddof=1))
    assert s > mean
    series = SimpleNamespace(values=np.array(values))
    summary = SimpleNamespace(mean=mean, stddev=s, least=min(values))
    row: Any = SimpleNamespace(series=series, summary=summary, flags=())
    ends = {}
    for log in (True, False):
        line = line_of(LOOK, "a", [(8, row)], ReadableUnit("µs", 1e-6), log=log, points=log)
        ends[log] = [*line.low, *line.high]
        assert len(line.points) == log * len(values)
    assert ends[True] == pytest.approx([1e6 * min(values), 1e6 * (mean + s)])
    assert ends[False] == pytest.approx([1e6 * (mean - s), 1e6 * (mean + s)])


def test_each_mark_is_drawn_and_twice_the_same() -> None:
    marks: list[Mark] = [
        Series([1, 2], [3.5, 2], LOOK, "a", [3, 1.5], [4, 2.5], [(1, 3.6)]),
        partial(Axes.axhspan, ymin=2, ymax=3, color=BAD),
        panels.written("note", (1, 1)),
        partial(Axes.bar, x=1, height=2, color=BAD, edgecolor=GOOD),
    ]
    x, y = Axis("across", counts=True), Axis("up", low=0)
    panel = Panel("title", marks, "alt", x, y, key={"call": BAD})
    svg = svg_of(panel)
    texts = re.findall(r">\s*([^<>]+?)\s*</", svg)
    assert {"title", "up", "across", "note", "call", "1", "2"} <= set(texts)
    assert svg.count("FillBetween") == 1
    assert all(colour in svg for colour in (BAD, GOOD))
    assert svg_of(replace(panel)) == svg
    assert panel.names == {"a"}


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("n", "bytes"), ["1 KiB", "4 KiB", "16 KiB"]),
        (Axis("n", "log"), ["1 000", "2 000", "5 000", "10 000"]),
        (Axis("n", ticks={1024: "few", 16384: "many"}), ["few", "many"]),
        (Axis("n", counts=True), ["1 024", "16 384"]),
    ],
)
def test_ticks_are_what_the_axis_says(axis: Axis, ticks: list[str]) -> None:
    svg = svg_of(Panel("", [Series([1024, 16384], [1, 2], LOOK, "a")], "", axis))
    below = re.findall(r">\s*([^<>]+?)\s*</text>", svg[svg.index("matplotlib.axis_1") :])
    shown = [text.replace("\u202f", " ") for text in below[: below.index("n")]]
    assert [text for text in shown if text in ticks] == ticks
