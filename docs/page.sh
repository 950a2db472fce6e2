#!/bin/bash
# Runs a daemon and its gateway until Ctrl-C, for the page of the cache in a browser of this machine:
#
#   docs/page.sh [DIRECTORY]     the directory that holds imgd, imgd-decoder, imgd-http and imgctl; .build/release
#
# SOCKET, CACHE and PORT say where; `make page` builds the programs and calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=${1:-.build/release}
cache=${CACHE:-.build/cache}
port=${PORT:-8080}
socket=${SOCKET:-/tmp/imgd-try/imgd.sock}

trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM
"$binaries/imgd" --socket "$socket" --cache-directory "$cache" &
"$binaries/imgd-http" --socket "$socket" --listen "127.0.0.1:$port" &

# Both say themselves what keeps them from starting; another program may have the port.
are_running() { [ "$(jobs -pr | wc -l)" -eq 2 ]; }
is_healthy() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /health HTTP/1.0\r\n\r\n' >&3 && grep -q '"status":"ok"' <&3
}
until (is_healthy) 2>/dev/null; do
  are_running || exit 1
  sleep 0.1
done
are_running || exit 1
cat <<END

The page of the cache: http://localhost:$port/
A picture for it, in another terminal: $binaries/imgctl --socket $socket show URL
Ctrl-C ends both programs.
END
wait -n
