"""The command line as a process: exit codes, pipes, Ctrl-C, the demo, and a real corpus."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import pandas as pd
import pytest

import supertopic
from supertopic.cli.demo import Trials
from tests.cli_tools import fails, run, write_corpus

SCRIPT = [sys.executable, "-c", "from supertopic.cli import main; main()"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "data.csv"
    write_corpus(path)
    return path


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("model.supertopic")
    assert run("fit", data, "--text", "body", "-k", 2, "--out", path).exit_code == 0
    return path


def process(*args, **options):
    command = [*SCRIPT, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, **options)


def test_exit_codes_of_the_process(model):
    nothing = process()
    assert nothing.returncode == 0 and "Usage: supertopic" in nothing.stdout and "demo" in nothing.stdout
    failure = process("topics", "none.supertopic")
    assert (failure.returncode, failure.stdout) == (1, "")
    assert failure.stderr == "Error: none.supertopic does not exist: check the path of the model\n"
    assert run("topics").exit_code == 2


def test_help_imports_nothing_heavy():
    code = "import sys, supertopic.cli; print(sorted({'numpy', 'pandas', 'numba', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@contextmanager
def started(command):
    """A process that takes Ctrl-C, even where the tests run in the background, which ignores it; killed at the end."""
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stderr=pipe, stdout=pipe, text=True, preexec_fn=listen) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of Unix")
def test_a_closed_pipe_is_silent(model):
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run([*SCRIPT, "topics", str(model)], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_ctrl_c_is_a_sentence(tmp_path, data, monkeypatch):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(supertopic.LDA, "fit", interrupted)
    done = run("fit", data, "--text", "body", "--out", tmp_path / "m.supertopic")
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "Stopped; nothing was written." and "Traceback" not in done.stderr
    assert not (tmp_path / "m.supertopic").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_with_a_checkpoint_says_what_is_kept(tmp_path, data):
    kept = tmp_path / "fit.checkpoint"
    command = ["fit", data, "--text", "body", "--inference", "gibbs", "--iterations", 10**8, "--verbose"]
    command += ["--checkpoint", kept, "--checkpoint-every", 0, "--out", tmp_path / "m.supertopic"]
    with started([*SCRIPT, *map(str, command)]) as running:
        for line in running.stderr:
            if line.startswith("LDA gibbs") and kept.exists():
                break
        running.send_signal(signal.SIGINT)
        _, noted = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in noted
    said = f"Stopped; the last state is kept in {kept}: the same command goes on from it."
    assert noted.splitlines()[-1] == said
    assert kept.exists() and not (tmp_path / "m.supertopic").exists()


@pytest.fixture(scope="module")
def trials():
    """The fits of the demo, on few texts."""
    return Trials.of(["logging", "email", "asyncio"], 4, 0, 1)


@pytest.fixture
def demo(trials, tmp_path, monkeypatch):
    def made(names, *given):
        assert (names, *given) == (["logging", "email", "asyncio"], 4, 0, 1)
        return trials

    monkeypatch.setattr(Trials, "of", made)
    monkeypatch.chdir(tmp_path)
    return partial(run, "demo", "--topics", 4, "--packages", "logging,email,asyncio", "--jobs", 1)


def test_the_demo_predicts_explains_and_measures(demo, tmp_path):
    done = demo()
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout and "goes with" in done.stdout
    assert done.stdout.count("effect: what the prediction changes by") == 2  # below each table of topics
    for name in ("logging", "email", "asyncio"):
        assert f" of {name}" in " ".join(done.stdout.split())
    assert "and this is right" in done.stdout and "Linear predictor: " in done.stdout
    right = re.search(r"4 topics +([0-9.]+)% +([0-9.]+)", done.stdout)
    least = re.search(r"always the same answer +([0-9.]+)% +([0-9.]+)", done.stdout)
    linear = re.search(r"linear model on [0-9,]+ words +([0-9.]+)% +([0-9.]+)", done.stdout)
    assert float(right[1]) > 2 * float(least[1]) and float(linear[1]) > 2 * float(least[1])
    assert 0 < float(right[2]) < 1.5 * float(least[2])  # 300 texts and four topics hardly predict a count
    model = supertopic.load(tmp_path / "demo.supertopic")
    assert len(model.topics()) == 4 and not {"logging", "email", "asyncio"} & set(model.feature_names_in_)
    assert "<html" in (tmp_path / "demo.html").read_text(encoding="utf-8")[:2000]
    for command in re.findall(r"^  supertopic (topics .*)$", done.stdout, flags=re.M):
        assert run(*command.split()).exit_code == 0


def test_the_demo_leaves_other_files_alone(demo, tmp_path):
    (tmp_path / "demo.html").write_text("mine", encoding="utf-8")
    told = json.loads(demo("--json").stdout)
    assert told["held_out"] == told["documents"] // 5 and told["accuracy"] > told["accuracy_of_the_largest"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.html"]
    done = demo()
    assert "demo.html is not written: a file of this name is already there" in done.stderr
    assert (tmp_path / "demo.html").read_text(encoding="utf-8") == "mine"


def test_the_demo_needs_packages_with_docstrings():
    assert "only 0 docstrings in nosuchpackage" in fails("demo", "--packages", "email,nosuchpackage")


@pytest.mark.data
def test_bbc_topics_are_its_sections(tmp_path, data_dir):
    source, out = data_dir / "bbc_news" / "data.parquet", tmp_path / "bbc.supertopic"
    done = run("fit", source, "--topics", 5, "--inference", "gibbs", "--iterations", 100, "--out", out)
    assert done.exit_code == 0 and "2,225" in done.stdout
    assert run("predict", out, source, "--keep", "label", "--out", tmp_path / "p.csv").exit_code == 0
    frame = pd.read_csv(tmp_path / "p.csv")
    assert len(frame) == 2225
    purity = frame.groupby("topic")["label"].agg(lambda label: label.value_counts().iloc[0]).sum() / len(frame)
    assert purity > 0.85
