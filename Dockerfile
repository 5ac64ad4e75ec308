# supertopic as a command: docker build -t supertopic . && docker run --rm -v "$PWD:/data" supertopic --help
FROM python:3.12-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir --prefix=/install "/source[parquet]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
# Kernels are compiled here, for any processor of this kind, so that a container starts at once and may be read-only
ENV NUMBA_CACHE_DIR=/usr/local/lib/supertopic-kernels NUMBA_CPU_NAME=generic
RUN supertopic warm-up && chmod -R a+rX "$NUMBA_CACHE_DIR"
RUN useradd --create-home --uid 1000 reader
USER reader
WORKDIR /data
ENTRYPOINT ["supertopic"]
CMD ["--help"]
