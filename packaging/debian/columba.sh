#!/bin/sh
# The command of the package: the settings are those of the service, and root becomes the user of the service, so that
# the files of the database keep their owner.
set -e
export COLUMBA_CONFIG="${COLUMBA_CONFIG:-/etc/columba/columba.conf}"
if [ "$(id -u)" = 0 ]; then
  exec runuser -u columba -- /usr/lib/columba/columba "$@"
fi
exec /usr/lib/columba/columba "$@"
