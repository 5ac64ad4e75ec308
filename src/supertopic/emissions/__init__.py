"""How topics generate words: a file per kind of emission. Importing this package registers them all."""

from supertopic.emissions import dirichlet, sage

__all__ = ["dirichlet", "sage"]
