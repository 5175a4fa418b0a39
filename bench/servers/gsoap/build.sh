#!/usr/bin/env bash
# Builds a gSOAP server: build.sh FOLDER SOURCE makes FOLDER/server of SOURCE.cpp. CXXFLAGS are -O2 unless given.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# Server and C++ only, no WSDL, no samples.
soapcpp2 -S -L -x -w -d. "$here/api.h" >soapcpp2.log 2>&1 || { cat soapcpp2.log >&2; exit 1; }
# The two definitions are those that Debian's library was compiled with: they change the layout of struct soap.
# shellcheck disable=SC2086 # several flags
g++ -std=c++20 ${CXXFLAGS:--O2} -DWITH_IPV6 -DWITH_DOM -I. -I"$here" "$here/$2.cpp" soapC.cpp soapServer.cpp -o server -lgsoap++ -lsqlite3 -pthread
