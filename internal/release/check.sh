#!/bin/sh
# Tries a release as its users get it, on Linux: every platform's programs are vetted, two
# clones of this commit at two paths give the same bytes, and what they gave is opened,
# listed and run. The image and the deb are run where no network but loopback is, before a
# fake Telegram: that needs root, buildah and debootstrap. What could not be tried is said,
# and is a failure with APPROVALBOT_REQUIRE_RELEASE=1.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "release: $*"; }
missing() {
  say "NOT TRIED: $*"
  [ "${APPROVALBOT_REQUIRE_RELEASE:-}" != 1 ]
}
have() { for program; do command -v "$program" >/dev/null 2>&1 || return 1; done; }
alone() { unshare --net -- sh -c 'ip link set lo up && exec "$@"' sh "$@"; }

# Vetted are the packages that the programs consist of, without their tests, which want Unix.
git clone -q . "$work/elsewhere/approvalbot"
git clone -q . "$work/vetted"
find "$work/vetted" -name '*_test.go' -delete
for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
  (
    cd "$work/vetted"
    export GOOS="${platform%/*}" GOARCH="${platform#*/}" GOFLAGS=-trimpath CGO_ENABLED=0
    # shellcheck disable=SC2046 # words are packages
    go vet $(go list -deps ./cmd/approvalbot ./cmd/approvalbot-hook | grep '^approvalbot/')
  )
done
say "vetted for five platforms"

make release >/dev/null
make -C "$work/elsewhere/approvalbot" release >/dev/null
cmp dist/SHA256SUMS "$work/elsewhere/approvalbot/dist/SHA256SUMS"
(cd dist && sha256sum --quiet -c SHA256SUMS)
rm -rf "$work/elsewhere" "$work/vetted"
say "two clones at two paths give the same bytes"

mkdir "$work/archives"
for archive in dist/*.tar.gz; do tar -xzf "$archive" -C "$work/archives"; done
if have unzip; then unzip -q dist/*.zip -d "$work/archives"; else missing "the archive for Windows: install unzip"; fi
for dir in "$work"/archives/*; do
  exe=
  case $dir in *_windows_*) exe=.exe ;; esac
  for program in approvalbot approvalbot-hook; do
    go version -m "$dir/$program$exe" | grep -q 'CGO_ENABLED=0'
  done
  grep -aq 'Europe/Berlin' "$dir/approvalbot$exe" # time zones are in it
  for file in man/man1/approvalbot-run.1 completions/approvalbot.bash completions/approvalbot.zsh completions/approvalbot.fish LICENSE; do
    [ -s "$dir/$file" ]
  done
done
here=$(echo "$work"/archives/*_linux_"$(go env GOARCH)")
for program in approvalbot approvalbot-hook; do
  if ldd "$here/$program" >"$work/ldd" 2>&1; then
    say "$program is not static: $(cat "$work/ldd")"
    exit 1
  fi
done
"$here/approvalbot-hook" claude-code PreToolUse </dev/null | grep -q '"permissionDecision":"deny"'
version=$("$here/approvalbot" --version | awk '{print $NF}')
"$here/approvalbot" version | grep -q "^revision: $(git rev-parse HEAD) of "
say "$(ls "$work/archives" | wc -l) archives hold $version, static, with time zones, manual pages and completions"

if have jq; then
  jq -e '.spdxVersion == "SPDX-2.3" and (.packages | length > 40)
    and all(.packages[]; .versionInfo != "" and (.licenseDeclared | test("^[A-Za-z0-9.-]+$")))' dist/*_modules.spdx.json >/dev/null
  say "$(jq '.packages | length' dist/*_modules.spdx.json) modules have a version and a licence"
else
  missing "the list of modules: install jq"
fi

image=dist/approvalbot_${version}_oci.tar
blob() { tar -xOf "$image" "blobs/sha256/${1#sha256:}"; }
if have jq; then
  index=$(tar -xOf "$image" index.json | jq -r '.manifests[0].digest')
  for manifest in $(blob "$index" | jq -r '.manifests[].digest'); do
    blob "$(blob "$manifest" | jq -r .config.digest)" |
      jq -e '.config.User == "65532:65532" and .config.Entrypoint == ["approvalbot"] and .os == "linux"' >/dev/null
    blob "$(blob "$manifest" | jq -r '.layers[0].digest')" | tar -tzf - >"$work/layer"
    for program in approvalbot approvalbot-hook; do grep -qx "usr/local/bin/$program" "$work/layer"; done
  done
  say "the image archive holds one image a platform, for a user who is not root"
fi

if have rpm; then
  for package in dist/*.rpm; do
    rpm -qpl "$package" 2>/dev/null >"$work/rpm"
    for file in /usr/bin/approvalbot /usr/bin/approvalbot-hook /usr/lib/systemd/system/approvalbot.service /etc/approvalbot/approvalbot.yaml \
      /usr/share/man/man1/approvalbot.1; do
      grep -qx "$file" "$work/rpm"
    done
    rpm -qpc "$package" 2>/dev/null | grep -qx /etc/approvalbot/approvalbot.yaml
    for script in postinst:postin prerm:preun postrm:postun; do
      rpm -qp --qf "%{${script#*:}}" "$package" 2>/dev/null >"$work/script"
      cmp "$work/script" "deploy/package/${script%:*}.sh" || sed '$a\' "$work/script" | cmp - "deploy/package/${script%:*}.sh"
    done
  done
  say "rpms list their files, their configuration and their scripts"
else
  missing "the rpms: install rpm"
fi

if have systemd-analyze; then
  dpkg-deb --fsys-tarfile "$(echo dist/approvalbot_*_amd64.deb)" | tar -xO ./usr/lib/systemd/system/approvalbot.service >"$work/approvalbot.service"
  systemd-analyze security --offline=yes --no-pager --threshold=15 "$work/approvalbot.service" | tail -1
else
  missing "what the unit confines: install systemd"
fi

CGO_ENABLED=0 go build -trimpath -o "$work/faketelegram" ./internal/faketelegram
namespaces() { [ "$(id -u)" = 0 ] && have unshare ip && unshare --net --mount true 2>/dev/null; }
if namespaces && have buildah openssl; then
  sh internal/release/try-image.sh "$work" "$image"
else
  missing "the image was only read: to run it takes root, namespaces, buildah, ip and openssl"
fi
if namespaces && have debootstrap; then
  debootstrap --variant=minbase bookworm "$work/bare" >"$work/debootstrap.log" 2>&1 || { tail -5 "$work/debootstrap.log"; exit 1; }
  cp "$(echo dist/approvalbot_*_"$(dpkg --print-architecture)".deb)" "$work/bare/tmp/approvalbot.deb"
  cp "$work/faketelegram" internal/release/try-deb.sh "$work/bare/tmp/"
  alone chroot "$work/bare" sh /tmp/try-deb.sh
else
  missing "the deb: that takes root, namespaces, debootstrap and ip"
fi
