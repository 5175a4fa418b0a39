# The service on SQLite in /data, or on PostgreSQL with COLUMBA_DATABASE. docs/INSTALL.md says how to run it.
# Tags are exact; whoever wants the same bytes each time adds the digest: debian:13.6-slim@sha256:…

# npm is needed to install and not afterwards, so it stays in this stage.
FROM node:24.19.0-trixie-slim AS packages
WORKDIR /opt/columba
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

# No Node: the one that the lockfile pins is in node_modules, and is the one that the tests ran on.
FROM debian:13.6-slim
LABEL org.opencontainers.image.title="Columba" \
      org.opencontainers.image.description="Self-hosted SMS account service that speaks the ASMX messaging API" \
      org.opencontainers.image.licenses="MIT"

RUN groupadd --system --gid 10001 columba \
 && useradd --system --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin columba \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data

# All of it belongs to root: the service can read itself, and not change itself.
WORKDIR /opt/columba
COPY --from=packages /opt/columba/node_modules ./node_modules
COPY LICENSE package.json columba ./
COPY bin ./bin
COPY src ./src
COPY examples/sample.json ./examples/sample.json
# A checkout under umask 077 would be unreadable for the user below.
RUN chmod -R a+rX LICENSE package.json columba bin src examples
# One name for the Node of either architecture. The link of npm's own is not always there.
RUN ln -s node_modules/node-linux-*/bin/node node

# The image is not written to, so that there is no place for a compile cache.
ENV NODE_DISABLE_COMPILE_CACHE=1 \
    COLUMBA_HOST=0.0.0.0 \
    COLUMBA_PORT=8080 \
    COLUMBA_WEB_HOST=0.0.0.0 \
    COLUMBA_WEB_PORT=8081 \
    COLUMBA_DATABASE=sqlite:/data/columba.db
VOLUME /data
EXPOSE 8080 8081
# As a number, so that Kubernetes can see that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM

# Asks the port for health of the environment, or the other one; set the port there, and not by a flag.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["/opt/columba/node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.COLUMBA_HEALTH_PORT || process.env.COLUMBA_PORT, path: '/health/ready', timeout: 4000 }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('timeout', () => process.exit(1)).on('error', () => process.exit(1))"]

# Both are programs and not lines of a shell, and columba becomes node: signals arrive.
ENTRYPOINT ["/opt/columba/columba"]
CMD ["serve"]
