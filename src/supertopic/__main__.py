"""`python -m supertopic` is the command line, where the script `supertopic` is not on the path."""

from supertopic.cli import main

main()
