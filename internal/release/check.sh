#!/bin/sh
# Tries a release as its users get it, on Linux: two clones of this commit at two paths
# give the same bytes; the deb, installed in a bare Debian without a service manager, runs
# a desk whose configuration needs three lines edited; an upgrade keeps what is there;
# what purge leaves is the key. The second half needs root and debootstrap.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make release >/dev/null
git clone -q . "$work/elsewhere/approvalbot"
make -C "$work/elsewhere/approvalbot" release >/dev/null
cmp dist/SHA256SUMS "$work/elsewhere/approvalbot/dist/SHA256SUMS"
(cd dist && sha256sum --quiet -c SHA256SUMS)
echo "release: two clones give the same bytes"

[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "release: the deb was not installed: that needs root and debootstrap"; exit 0; }
bare=$work/bare
debootstrap --variant=minbase bookworm "$bare" >"$work/debootstrap.log" 2>&1 || { tail -5 "$work/debootstrap.log"; exit 1; }
cp dist/approvalbot_*_"$(dpkg --print-architecture)".deb "$bare/tmp/approvalbot.deb"
cat >"$bare/tmp/try" <<'TRY'
set -eu
began=$(date +%s)
dpkg -i /tmp/approvalbot.deb >/dev/null
sed -i 's/botToken: ""/botToken: "111:no-such-bot"/; s/111111111/222222222/; s/-1001234567890/222222222/' /etc/approvalbot/approvalbot.yaml
# What systemd would do with the unit.
export CREDENTIALS_DIRECTORY=/tmp/credentials STATE_DIRECTORY=/var/lib/approvalbot RUNTIME_DIRECTORY=/tmp/run
install -d -m 0700 -o approvalbot $CREDENTIALS_DIRECTORY $STATE_DIRECTORY $RUNTIME_DIRECTORY
install -m 0600 -o approvalbot /etc/approvalbot/credentials/* $CREDENTIALS_DIRECTORY
install -m 0600 -o approvalbot /etc/approvalbot/credentials/key $RUNTIME_DIRECTORY/key
setpriv --reuid approvalbot --regid approvalbot --clear-groups approvalbot serve --config /etc/approvalbot/approvalbot.yaml 2>/tmp/log &
desk=$!
operator="approvalbot --client /etc/approvalbot/operator.yaml"
for _ in $(seq 100); do $operator health >/dev/null 2>&1 && break; sleep 0.1; done
approvalbot --client /etc/approvalbot/agent.yaml request --tool exec --params '{"command":"git push origin main"}' >/tmp/asked || [ $? = 13 ]
code=$(sed -n 's/^Code: *//p' /tmp/asked)
$operator approve "$code" >/dev/null
$operator list | grep -q approved
kill $desk; wait $desk || true
echo "release: from dpkg -i to a request that is approved in $(($(date +%s) - began)) s"
dpkg -i /tmp/approvalbot.deb >/dev/null
grep -q 'botToken: "111:no-such-bot"' /etc/approvalbot/approvalbot.yaml
[ -s /var/lib/approvalbot/approvalbot.db ]
dpkg -P approvalbot >/dev/null 2>&1
[ -s /etc/approvalbot/credentials/key ] && [ ! -e /etc/approvalbot/operator.yaml ] && [ ! -e /var/lib/approvalbot ]
dpkg -i /tmp/approvalbot.deb >/dev/null
APPROVALBOT_PURGE_KEY=1 dpkg -P approvalbot >/dev/null 2>&1
[ ! -e /etc/approvalbot ]
echo "release: the deb was installed, upgraded and purged"
TRY
chroot "$bare" sh /tmp/try
