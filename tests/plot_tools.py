"""What tests of plots share: texts on an Axes, and whether any of them overlap or are cut."""

import numpy as np


def texts(ax):
    """The visible texts that the plot has written, but ticks and labels of the axes."""
    return [text for text in ax.texts if text.get_visible() and text.get_text()]


def written(ax):
    return [text.get_text() for text in texts(ax)]


def at_rows(ax):
    """{row: texts from left to right}, for plots whose text stands in rows."""
    found = {}
    for text in sorted(texts(ax), key=lambda text: text.get_position()[0]):
        row = text.get_position()[1]
        if text.get_rotation() == 0 and row == round(row) and text.get_transform() == ax.transData:
            found.setdefault(round(row), []).append(text.get_text())
    return found


def assert_readable(ax, smallest=4.0):
    """No two texts overlap, none leaves the figure, and none is too small to be read."""
    figure = ax.figure
    figure.canvas.draw()
    shown = [*texts(ax), ax.xaxis.label, ax.yaxis.label]
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        pairs = zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)
        shown += [label for label, place in pairs if min(limits) <= place <= max(limits)]
    legend = ax.get_legend()
    shown += [] if legend is None else legend.get_texts()
    shown = [text for text in shown if text.get_visible() and text.get_text()]
    whole = figure.bbox
    boxes = []
    for text in shown:
        box = text.get_window_extent()
        inside = box.x0 >= whole.x0 - 1 and box.x1 <= whole.x1 + 1 and box.y0 >= whole.y0 - 1 and box.y1 <= whole.y1 + 1
        assert inside, f"{text.get_text()!r} is cut: {box} in {whole}"
        assert text.get_fontsize() >= smallest, text.get_text()
        if text.get_rotation() in (0, 90):
            boxes.append((text.get_text(), np.array([box.x0, box.y0, box.x1, box.y1])))
    slack = 0.12 * figure.dpi * 6 / 72  # boxes hold room for descenders
    for i, (first, a) in enumerate(boxes):
        for second, b in boxes[i + 1 :]:
            across = min(a[2], b[2]) - max(a[0], b[0])
            along = min(a[3], b[3]) - max(a[1], b[1])
            assert across <= slack or along <= slack, f"{first!r} and {second!r} overlap"
