# Columba as one file, on Debian: the service on SQLite in /data, or on PostgreSQL with COLUMBA_DATABASE. First:
#
#   npm ci && npm run executable
#
# or put the file of a release into build/. docs/INSTALL.md says how to run the image.
# Tags are exact; whoever wants the same bytes each time adds the digest: debian:13.6-slim@sha256:…

# build/ may have the files of several architectures; one goes into the image. If it has several versions, choose one
# with --build-arg VERSION=0.2.0.
FROM debian:13.6-slim AS file
ARG VERSION=*
COPY build/columba-*-linux-* /build/
RUN set -- /build/columba-${VERSION}-linux-"$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')" \
 && if [ $# -ne 1 ]; then echo "build/ has several versions: choose one with --build-arg VERSION=0.2.0" >&2; exit 1; fi \
 && install -m 0755 "$1" /columba

FROM debian:13.6-slim
LABEL org.opencontainers.image.title="Columba" \
      org.opencontainers.image.description="Self-hosted SMS account service that speaks the ASMX messaging API" \
      org.opencontainers.image.licenses="MIT"

RUN groupadd --system --gid 10001 columba \
 && useradd --system --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin columba \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data

# All of it belongs to root: the service can read itself, and not change itself.
COPY LICENSE /usr/share/doc/columba/copyright
COPY --from=file /columba /usr/local/bin/columba

ENV COLUMBA_HOST=0.0.0.0 \
    COLUMBA_PORT=8080 \
    COLUMBA_WEB_HOST=0.0.0.0 \
    COLUMBA_WEB_PORT=8081 \
    COLUMBA_DATABASE=sqlite:/data/columba.db
WORKDIR /data
VOLUME /data
EXPOSE 8080 8081
# As a number, so that Kubernetes can see that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM

# Each check takes 0.2 s of CPU. It asks the port for health of the environment, or the other one; set the port there, and not
# by a flag.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["columba", "health"]

# Programs and not lines of a shell: signals arrive.
ENTRYPOINT ["/usr/local/bin/columba"]
CMD ["serve"]
