"""Runs a module in a process that has numba's CUDA simulator, which must be chosen before numba is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def in_the_simulator(module, request):
    """What a module prints last. It is given the names that tests ask for, which use the fixture of this request."""
    items = [item for item in request.session.items if getattr(item, "module", None) is request.module]
    asking = [item for item in items if request.fixturename in item.fixturenames]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.lanes_in_turn", module, *(item.callspec.params["name"] for item in asking)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
