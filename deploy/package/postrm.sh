#!/bin/sh
# After the files have gone. dpkg's purge takes the store, the tokens and the user, and
# leaves the key: it opens backups. APPROVALBOT_PURGE_KEY=1 takes that as well.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
[ "$1" = purge ] || exit 0
etc=/etc/approvalbot
rm -rf /var/lib/approvalbot
rm -f "$etc/agent.yaml" "$etc/operator.yaml" "$etc/credentials/agent-token" "$etc/credentials/operator-token"
if [ "${APPROVALBOT_PURGE_KEY:-}" = 1 ]; then
  rm -f "$etc/credentials/key"
fi
rmdir "$etc/credentials" "$etc" 2>/dev/null || true
if getent passwd approvalbot >/dev/null; then
  userdel approvalbot || true
fi
