"""A page that explains a fitted model: one HTML file, which needs no network and predicts as one types.

`payload` collects what the page shows, `write` packs it into the template; the folder `assets` holds the page itself.
"""

from supertopic.explore.page.write import write_report

__all__ = ["write_report"]
