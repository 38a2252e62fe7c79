#!/bin/sh
# After unpacking: the desk's user, its key and its tokens, each made once. dpkg says
# "configure", rpm 1 at the first install and 2 at an upgrade.
set -e
case "$1" in configure | 1 | 2) ;; *) exit 0 ;; esac

getent passwd approvalbot >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/approvalbot --shell /usr/sbin/nologin approvalbot

etc=/etc/approvalbot
install -d -m 0700 "$etc/credentials"
for name in key agent-token operator-token; do
  [ -s "$etc/credentials/$name" ] && continue
  (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$etc/credentials/$name.new")
  mv "$etc/credentials/$name.new" "$etc/credentials/$name"
done
# The two client files: approvalbot --client /etc/approvalbot/operator.yaml pending
for who in agent operator; do
  [ -e "$etc/$who.yaml" ] && continue
  (umask 077 && printf 'server: http://127.0.0.1:8787\ntoken: %s\n' "$(cat "$etc/credentials/$who-token")" >"$etc/$who.yaml")
done
chown root:approvalbot "$etc/approvalbot.yaml"
chmod 0640 "$etc/approvalbot.yaml"

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable approvalbot >/dev/null 2>&1 || true # an administrator may have masked it
  systemctl restart approvalbot || true                # the journal says why, and systemd tries again
fi
