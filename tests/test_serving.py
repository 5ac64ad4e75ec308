"""The service of docs/serving.md answers under load on loopback; a stand-in takes FastAPI's place."""

import json
import re
import sys
import threading
import types
import urllib.request
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from supertopic.documents.corpus import EmptyDocumentWarning
from tests.page_models import NEW, fitted, reviews

DOC = (Path(__file__).resolve().parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")


class FastAPI:
    """As much of it as the service needs."""

    def __init__(self):
        self.routes = {}

    def post(self, path):
        return lambda function: self.routes.setdefault(path, function)


class HTTPException(Exception):
    def __init__(self, status, detail):
        super().__init__(detail)
        self.status = status


class BaseModel:
    def __init__(self, **values):
        vars(self).update(values)


@pytest.fixture
def service(monkeypatch, tmp_path):
    """The names of the service's module."""
    fitted("gaussian").predictor().save(tmp_path / "ratings.predictor")
    monkeypatch.setenv("PREDICTOR", str(tmp_path / "ratings.predictor"))
    stand_in = types.SimpleNamespace(FastAPI=FastAPI, HTTPException=HTTPException)
    monkeypatch.setitem(sys.modules, "fastapi", stand_in)
    monkeypatch.setitem(sys.modules, "pydantic", types.SimpleNamespace(BaseModel=BaseModel, Field=lambda **_: None))
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", DOC, re.DOTALL) if "FastAPI" in block]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    names = {}
    exec(code, names)
    return names


def handler(names):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, answer = 200, names["app"].routes[self.path](names["Texts"](**body))
            except HTTPException as error:
                status, answer = error.status, {"detail": str(error)}
            sent = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    return Handler


def ask(port, texts):
    body = json.dumps({"texts": texts}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/predict", body, timeout=60) as answer:
        return json.loads(answer.read())


def test_a_service_answers_eight_clients_at_once(service):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(service))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    texts, found = [*NEW, *reviews()["text"].tolist()[:45]], [{} for _ in range(8)]

    def client(place):
        for text in texts:
            found[place][text] = ask(server.server_port, [text])

    clients = [threading.Thread(target=client, args=(place,)) for place in range(8)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    server.shutdown()
    server.server_close()
    with pytest.warns(EmptyDocumentWarning):
        want = np.column_stack(fitted("gaussian").predict(texts, return_interval=0.9))
    for answers in found:
        got = [[answers[text][name][0] for name in ("mean", "low", "high")] for text in texts]
        np.testing.assert_allclose(got, want, atol=1e-3)


def test_nonsense_is_answered_by_a_sentence(service):
    with pytest.raises(HTTPException, match="expected counts"):
        service["predict"](service["Texts"](texts=[1.0, 2.0]))


def test_mlflow_takes_a_model(monkeypatch, tmp_path):
    """A stand-in keeps what is logged, and loads it as MLflow does."""
    model, new = fitted("gaussian"), reviews()
    model.predictor().save(tmp_path / "ratings.predictor")
    monkeypatch.chdir(tmp_path)
    logged = {}
    stand_in = types.SimpleNamespace(
        start_run=nullcontext,
        log_params=lambda params: logged.update(params=json.loads(json.dumps(params, default=str))),
        log_metric=lambda name, value: logged.update({name: float(value)}),
        pyfunc=types.SimpleNamespace(PythonModel=object, log_model=lambda **given: logged.update(given)),
    )
    monkeypatch.setitem(sys.modules, "mlflow", stand_in)
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", DOC, re.DOTALL) if "mlflow" in block]
    frame = pd.DataFrame({"text": new["text"], "stars": new["rating"]})
    exec(code, {"model": model, "new": frame})
    served = logged["python_model"]
    served.load_context(types.SimpleNamespace(artifacts=logged["artifacts"]))
    expected = model.predict(frame["text"])
    np.testing.assert_allclose(served.predict(None, frame), expected, rtol=1e-3, atol=1e-3)
    assert logged["params"]["n_topics"] == 4 and logged["r2"] == pytest.approx(model.score(frame.text, frame.stars))
