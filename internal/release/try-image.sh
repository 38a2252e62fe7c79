#!/bin/sh
# try-image.sh WORK ARCHIVE: unpacks the image for this machine with buildah, and runs it as
# compose-sqlite.yaml does: as its user, on a root file system that is read-only, with no
# network but loopback. A request becomes a card in WORK/faketelegram, and runs after a tap.
set -eu
work=$1 archive=$2
cd "$(dirname "$0")/../.."
buildah() { command buildah --root "$work/images" --runroot "$work/images.run" --storage-driver vfs "$@"; }
image=$(buildah from --quiet "oci-archive:$archive")
config=$(buildah inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$image")
[ "$config" = '65532:65532 [approvalbot] [serve]' ] || { echo "release: the image is $config"; exit 1; }
root=$(buildah mount "$image")
[ "$(stat -c %a:%u "$root/var/lib/approvalbot")" = 700:65532 ]

secrets=$work/secrets
mkdir -m 0755 "$secrets"
for f in key agent-token operator-token; do openssl rand -hex 32 >"$secrets/$f"; done
echo 123456:TEST >"$secrets/telegram-bot-token"
chmod 0600 "$secrets"/*
chown 65532:65532 "$secrets"/*
sed 's/111111111/222222222/; s/telegram:-1001234567890/telegram:222222222/' deploy/approvalbot.compose-sqlite.yaml >"$work/image.yaml"
cat >"$work/in-image" <<'TRY'
set -eu
root=$1 work=$2
ip link set lo up
mkdir -p "$root/etc/approvalbot" "$root/run/secrets"
touch "$root/etc/approvalbot/approvalbot.yaml"
mount --bind "$root" "$root"
mount --bind "$work/image.yaml" "$root/etc/approvalbot/approvalbot.yaml"
mount --bind "$work/secrets" "$root/run/secrets"
mount -t tmpfs -o mode=0700,uid=65532,gid=65532 state "$root/var/lib/approvalbot" # the volume
mount -o remount,bind,ro "$root"
if touch "$root/x" 2>/dev/null; then echo "release: the image's root can be written" && exit 1; fi
inside() { env -i PATH=/usr/local/bin APPROVALBOT_SERVER=http://127.0.0.1:8787 "$@"; }
confined="/usr/sbin/chroot --userspec=65532:65532 $root"
"$work/faketelegram" -listen 127.0.0.1:8081 -user 222222222 >"$work/image.chat" &
chat=$!
inside APPROVALBOT_CFG__CHANNELS__TELEGRAM__APIURL=http://127.0.0.1:8081 $confined approvalbot serve 2>"$work/image.log" &
desk=$!
for _ in $(seq 300); do inside $confined approvalbot health >/dev/null 2>&1 && break; sleep 0.1; done
inside APPROVALBOT_TOKEN="$(cat "$work/secrets/agent-token")" $confined \
  approvalbot request --tool deploy --params '{}' --wait >"$work/image.asked" 2>&1 || { cat "$work"/image.*; exit 1; }
wait $chat
grep -qx allowed "$work/image.chat"
kill $desk
wait $desk 2>/dev/null || true
TRY
unshare --net --mount -- sh "$work/in-image" "$root" "$work" || { cat "$work"/image.*; exit 1; }
buildah rm "$image" >/dev/null
echo "release: the image ran as its user on a root that is read-only"
