"""What a mutant is (`tests.mutants`): a small error in the source, and the test that has to notice it."""

from typing import NamedTuple

_LONG = ("test_golden_fits", "test_supervised_gibbs", "test_samplers", "test_draws", "test_collapsed")


class Mutant(NamedTuple):
    """Replace `old` by `new` in a file of the package: `tests`, below the folder of tests, must then fail."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def as_python(self) -> bool:
        """Whether its test can be run without compiling: those that fit models or draw many numbers take too long."""
        return self.file.startswith("kernels/") and not self.tests.startswith(_LONG)

    @property
    def name(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


def mutants_of(file: str, *rows: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(file, *row) for row in rows]
