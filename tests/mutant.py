"""What a mutant is (`tests.mutants`): a small error in the source, and the test that has to notice it."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """Replace `old` by `new` in a file of the package: `tests`, below the folder of tests, must then fail."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def of_kernel(self) -> bool:
        return self.file.startswith("kernels/")

    @property
    def name(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


def mutants_of(file: str, *rows: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(file, *row) for row in rows]
