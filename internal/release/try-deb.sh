#!/bin/sh
# In a bare Debian without a service manager and with no network but loopback: installs
# /tmp/approvalbot.deb, edits its three lines, runs the desk as its unit would, and takes a
# request to a card in /tmp/faketelegram and through a tap to the end. Then it upgrades to
# a package whose configuration is another, removes and purges.
set -eu
etc=/etc/approvalbot
export LC_ALL=C
began=$(date +%s%N)
dpkg -i /tmp/approvalbot.deb >/dev/null
sed -i 's/telegram: 111111111/telegram: 222222222/
  s/botToken: "", allowedUserIds: \[111111111\]/botToken: "123456:TEST", allowedUserIds: [222222222]/
  s/telegram:-1001234567890/telegram:222222222/' $etc/approvalbot.yaml
/tmp/faketelegram -listen 127.0.0.1:8081 -user 222222222 >/tmp/chat &
chat=$!
# What systemd would do with the unit.
export CREDENTIALS_DIRECTORY=/tmp/credentials STATE_DIRECTORY=/var/lib/approvalbot RUNTIME_DIRECTORY=/tmp/run
install -d -m 0700 -o approvalbot $CREDENTIALS_DIRECTORY $STATE_DIRECTORY $RUNTIME_DIRECTORY
install -m 0600 -o approvalbot $etc/credentials/* $CREDENTIALS_DIRECTORY
install -m 0600 -o approvalbot $etc/credentials/key $RUNTIME_DIRECTORY/key
# The one thing that is not as in life: where Telegram is.
export APPROVALBOT_CFG__CHANNELS__TELEGRAM__APIURL=http://127.0.0.1:8081
setpriv --reuid approvalbot --regid approvalbot --clear-groups approvalbot serve --config $etc/approvalbot.yaml 2>/tmp/log &
desk=$!
operator="approvalbot --client $etc/operator.yaml"
for _ in $(seq 300); do $operator health >/dev/null 2>&1 && break; sleep 0.1; done
echo 'echo it ran' >/tmp/job.sh
approvalbot --client $etc/agent.yaml run -- sh /tmp/job.sh >/tmp/ran 2>/tmp/asked &
asked=$!
for _ in $(seq 300); do grep -q '^card: ' /tmp/chat && break; sleep 0.1; done
grep -q '^card: ' /tmp/chat || { cat /tmp/log /tmp/asked; exit 1; }
took=$((($(date +%s%N) - began) / 1000000))
wait $asked && grep -qx 'it ran' /tmp/ran && wait $chat && grep -qx allowed /tmp/chat || { cat /tmp/log /tmp/asked /tmp/chat; exit 1; }
echo "release: from dpkg -i to the first card in $((took / 1000)).$((took % 1000 / 100)) s; three lines edited by a script"
[ "$(stat -c %a:%U:%G $etc/approvalbot.yaml)" = 640:root:approvalbot ]
[ "$(stat -c %a:%U $etc/credentials/key)" = 600:root ]
[ "$(stat -c %a:%U /usr/bin/approvalbot-hook)" = 755:root ]
key=$(sha256sum $etc/credentials/key) token=$(cat $etc/credentials/agent-token)
kill $desk
wait $desk 2>/dev/null || true

# The next version's package, with another text of the configuration.
dpkg-deb -R /tmp/approvalbot.deb /tmp/next
sed -i 's/^Version: .*/&.next/' /tmp/next/DEBIAN/control
echo '# Said by a later version.' >>/tmp/next$etc/approvalbot.yaml
(cd /tmp/next && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb -b /tmp/next /tmp/next.deb >/dev/null
dpkg --force-confold -i /tmp/next.deb >/dev/null 2>&1
grep -q 'botToken: "123456:TEST"' $etc/approvalbot.yaml
grep -q 'later version' $etc/approvalbot.yaml.dpkg-dist
[ -s /var/lib/approvalbot/approvalbot.db ]
[ "$(sha256sum $etc/credentials/key)" = "$key" ]
[ "$(cat $etc/credentials/agent-token)" = "$token" ]

dpkg -r approvalbot >/dev/null 2>&1
[ -s $etc/approvalbot.yaml ]
[ -s /var/lib/approvalbot/approvalbot.db ]
[ ! -e /usr/bin/approvalbot ]
[ ! -e /usr/bin/approvalbot-hook ]
dpkg -P approvalbot </dev/null >/dev/null 2>&1
[ -s $etc/credentials/key ]
[ ! -e $etc/operator.yaml ]
[ ! -e /var/lib/approvalbot ]
dpkg -i /tmp/approvalbot.deb >/dev/null
[ "$(sha256sum $etc/credentials/key)" = "$key" ] # so backups can be opened
APPROVALBOT_PURGE_KEY=1 dpkg -P approvalbot </dev/null >/dev/null 2>&1
[ ! -e $etc ]
echo "release: the deb was installed, upgraded, removed and purged"
