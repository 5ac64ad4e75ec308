# supertopic as a command: docker build -t supertopic . && docker run --rm -v "$PWD:/data" supertopic --help
FROM python:3.12-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir --prefix=/install "/source[parquet]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
# numba keeps compiled kernels here; mount a volume to keep them between runs
ENV NUMBA_CACHE_DIR=/tmp/numba
RUN useradd --create-home --uid 1000 reader
USER reader
WORKDIR /data
ENTRYPOINT ["supertopic"]
CMD ["--help"]
