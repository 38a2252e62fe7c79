#!/bin/sh
# Runs a program where only loopback can be reached, if this machine allows it. Elsewhere
# it just runs: the labs' clients then have proxies that refuse every other host.
alone='ip link set lo up && exec "$@"'
for unshare in "unshare -n" "unshare -rn"; do
  if $unshare sh -c 'ip link set lo up' >/dev/null 2>&1; then
    exec $unshare sh -c "$alone" sh "$@"
  fi
done
exec "$@"
