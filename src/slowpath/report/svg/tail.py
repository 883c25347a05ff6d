# SPDX-License-Identifier: Apache-2.0
"""The tail of single messages: which share of them takes longer than a time, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from slowpath.report.svg.element import element, number, picture
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import tick_label

WIDTH, HEIGHT = 330, 250
_FRAME = Frame(66, 26, WIDTH - 10, HEIGHT - 44)


def chart(points: Sequence[tuple[float, float]], x_title: str, title: str) -> Markup | None:
    """One line. Args: points: time and share of the messages that take longer, by time; shares of 0 end the line."""
    times = spanning([time for time, _ in points], margin=1.03)
    shown = [(time, share) for time, share in points if share > 0]
    shares = spanning([share for _, share in shown], least=10.0, margin=1.0)
    if times is None or shares is None:
        return None
    x, y = LogScale(*times, _FRAME.left + 8, _FRAME.right - 8), LogScale(*shares, _FRAME.bottom, _FRAME.top)
    last = max(time for time, _ in points)
    places = [(x(time), y(share)) for time, share in shown]
    path = "M" + "L".join(f"{number(px)} {number(py)}" for px, py in [*places, (x(last), places[-1][1])])
    content = _FRAME.y_axis(y, lambda share: f"{100 * share:g} %")
    content += _FRAME.x_axis(x, x.ticks(5), lambda tick: tick_label(tick, "s"))
    content += _FRAME.titles(x_title, "messages that take longer")
    content += element("path", d=path, class_="line s1")
    content += "".join(element("circle", cx=px, cy=py, r=2.5, class_="point s1") for px, py in places)
    middle, slowest = tick_label(points[0][0], "s"), tick_label(last, "s")
    words = f"Half of the messages take longer than {middle}, the slowest {slowest}."
    return picture(content, title, words, height=HEIGHT, width=WIDTH)
