# SPDX-License-Identifier: Apache-2.0
"""Start-up times, rates and intervals of switches of simulated ping-pongs.

Times are 20 µs + 1 ns a byte, 8 B to 512 KiB, four sizes an octave, with a step at a limit;
launches share a part of their luck over all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bench.rows import Row, efforts, share
from plugins.predict.launches import with_launches
from plugins.predict.point_to_point import Break, Segmentation, segmented

TOPIC = "Point to point: α, R∞, n½, intervals of switches"
RUNS = efforts(8, 40, 200)
ALPHA_S, BETA_S_PER_BYTE = 20e-6, 1e-9
SIZES = sorted({round(8 * 2 ** (k / 4)) for k in range(65)})
#: What launches share, what each size has of its own, and whether tails are heavy.
LUCKS = ((0.03, 0.02, False), (0.0, 0.05, False), (0.1, 0.01, False), (0.03, 0.02, True))
#: Few sizes, as the first campaign has them.
SPARSE = (9600, 16384, 32768, 65536, 98304, 131072, 262144, 1048576)


def truth(limit: int | None, step_s: float) -> NDArray[np.float64]:
    """Times of SIZES without noise, s."""
    m = np.array(SIZES, dtype=np.float64)
    return ALPHA_S + BETA_S_PER_BYTE * m + np.where(m > (limit or np.inf), step_s, 0.0)


#: Smooth times in s of lengths in bytes; a step multiplies the first law by a factor.
SMOOTH: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "a straight line": lambda m: ALPHA_S + BETA_S_PER_BYTE * m,
    "a line that bends upwards": lambda m: (
        ALPHA_S + BETA_S_PER_BYTE * m * (1 + 0.1 * np.log2(1 + m / 4096))
    ),
    "a power of the length": lambda m: 1e-6 * m**0.7,
    "α and a power": lambda m: ALPHA_S + 5e-9 * m**0.9,
    "a bow": lambda m: ALPHA_S * (1 + (m / 20000) ** 0.8) ** 1.2,
}
#: Few lengths: 64 B to 256 KiB, and 1 B to 16 MiB.
FEW = tuple(64 * 2**k for k in range(13)), tuple(4**k for k in range(13))


def found_in(
    sizes: tuple[int, ...], times: NDArray[np.float64], noise: float, curves: int
) -> list[tuple[Break, ...]]:
    """The switches found in so many curves of one noisy time a size, seeds 0 and up."""
    luck = [np.random.default_rng(seed).standard_normal(len(times)) for seed in range(curves)]
    noisy = [(times * np.exp(noise * own)).tolist() for own in luck]
    return [segmented(sizes, one).switches for one in noisy]


def packets(size: int, alpha_s: float = 5e-6) -> NDArray[np.float64]:
    """Times of SIZES in packets that are sent whole, s: stairs, without a switch of protocol."""
    return alpha_s + BETA_S_PER_BYTE * size * np.ceil(np.array(SIZES) / size)


def drawn(
    times: NDArray[np.float64], luck: tuple[float, float, bool], n: int, seed: int
) -> NDArray[np.float64]:
    """Launches of a curve: a row a size, a column a launch."""
    rng = np.random.default_rng([seed, n])
    shared, own, heavy = luck

    def draw(*shape: int) -> NDArray[np.float64]:
        return 0.88 * rng.standard_t(3, shape) if heavy else rng.standard_normal(shape)

    noise = shared * draw(1, n) + own * draw(len(times), n)
    return np.asarray(times[:, np.newaxis] * np.exp(noise))


def modelled(sizes: list[int], launches: NDArray[np.float64]) -> Segmentation:
    """Segments that the report makes of launches."""
    found = segmented(sizes, np.median(launches, axis=1).tolist())
    return with_launches(found, sizes, launches)


def intervals(curves: int) -> Iterator[Row]:
    """Coverage of the intervals of lines and of a switch, over two segments."""
    limit, step_s = 16384, 20e-6
    times = truth(limit, step_s)
    for luck in LUCKS:
        shared, own, heavy = luck
        name = f"launches {shared:.0%}, sizes {own:.0%}{', t(3)' * heavy}"
        lines = held = breaks = poor = 0
        for n in (5, 11):
            inside = dict.fromkeys(("α", "R∞", "n½"), 0)
            for seed in range(curves):
                model = modelled(SIZES, drawn(times, luck, n, seed))
                ends = ((model.segments[0], ALPHA_S), (model.segments[-1], ALPHA_S + step_s))
                for line, alpha in ends:
                    poor += line.poor is not None
                    lines += 1
                    values = (alpha, 1 / BETA_S_PER_BYTE, alpha / BETA_S_PER_BYTE)
                    found = (line.alpha, line.bandwidth, line.half_length)
                    for quantity, value, item in zip(inside, values, found, strict=True):
                        inside[quantity] += item is not None and item.low <= value <= item.high
                breaks += len(model.switches[:1])
                held += any(one.low_bytes <= limit < one.high_bytes for one in model.switches)
            for what, hits in inside.items():
                text = f"{name}, n = {n}: interval of {what} covers"
                yield share(text, hits, 2 * curves, least=0.93, alike=2)
        yield share(f"{name}: the switch is in its interval", held, breaks, least=0.95)
        yield share(f"{name}: a true line is called none", poor, lines, most=0.02, alike=4)


def no_lines(curves: int) -> Iterator[Row]:
    """Times that lie on no line: no latency is reported."""
    m = np.array(SPARSE, dtype=np.float64)
    waves = m / 90e6 * (1 + 0.35 * np.sin(2.5 * np.log(m)))
    burst = 4e-6 + m / 700e6 + np.maximum(m - 60e3, 0) / 12e6
    for what, times in (("25 % rms off a line", waves), ("a burst, then a slow link", burst)):
        for n in (5, 7):
            named = 0
            for seed in range(curves):
                model = modelled(list(SPARSE), drawn(times, (0.03, 0.05, False), n, seed))
                # A start-up time that is reported must be that of a line through the true times.
                off = [
                    line
                    for line in model.segments
                    if line.poor is None and _misses(line.alpha_s, line.beta_s_per_byte, m, times)
                ]
                named += not off
            yield share(f"{what}, n = {n}, noise 5 %: no false line", named, curves, least=0.95)


def _misses(
    alpha_s: float, beta: float, m: NDArray[np.float64], times: NDArray[np.float64]
) -> bool:
    """True if a line is nowhere near four neighbouring true times."""
    off = np.abs((alpha_s + beta * m) / times - 1)
    return not any((off[low : low + 4] < 0.15).all() for low in range(len(m) - 3))


def rows(curves: int) -> Iterator[Row]:
    """All rows of so many curves each."""
    for part in (intervals, no_lines):
        yield from part(curves)
