# tctune as an image. What a command reads and writes is in the folder that is mounted as /work:
#   docker build -t tctune .
#   docker run --rm -v "$PWD:/work" tctune tune --model model.onnx --trials 1000 --out model.so
FROM debian:12 AS build
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /source
COPY scripts/install-deps.sh scripts/
RUN scripts/install-deps.sh && apt-get install -y -q --no-install-recommends dpkg-dev fakeroot file
COPY . .
RUN cmake --preset packages && cmake --build --preset packages
RUN cd build/packages && cpack -G DEB -B /packages

FROM debian:12
COPY --from=build /packages/*.deb /packages/
RUN apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        libllvm19 /packages/libtctune0*.deb /packages/tctune_*.deb && \
    rm -rf /packages /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["tctune"]
CMD ["--help"]
