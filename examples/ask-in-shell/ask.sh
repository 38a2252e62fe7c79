#!/bin/sh
# Asks whether a command may run, and runs it only then:
#   APPROVALBOT_TOKEN=… ask.sh CMD [ARG...]
# The desk is APPROVALBOT_SERVER, or the one on this machine. Exit status: the
# command's own, or 10 denied, 11 expired, 12 withdrawn, 1 anything else: not run.
set -eu
[ $# -gt 0 ] && [ -n "${APPROVALBOT_TOKEN:-}" ] || { echo 'usage: APPROVALBOT_TOKEN=… ask.sh CMD [ARG...]' >&2; exit 1; }
url=${APPROVALBOT_SERVER:-http://127.0.0.1:8787}
url=${url%/}/v1/approvals

not_run() { echo "ask.sh: not run: $2" >&2; exit "$1"; }
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
# post PATH BODY puts the answer into that file. What it sends may be sent again:
# the ids see to that. The token is in no argument, and goes to no other server.
post() {
  code=$(printf 'Authorization: Bearer %s\n' "$APPROVALBOT_TOKEN" |
    curl -sS --max-time 90 --retry 3 --retry-connrefused -o "$answer" -w '%{http_code}' \
      -H @- -H 'Content-Type: application/json' --data-binary "$2" "$url$1") || return 1
  [ "$code" = 200 ] || [ "$code" = 201 ]
}
field() { jq -r ".$1 // empty" "$answer" 2>/dev/null || true; }

params=$(jq -nc --arg dir "$PWD" '{argv: $ARGS.positional, workdir: $dir}' --args -- "$@")
id=ask-$(random)
claim=$(random)
request=$(jq -nc --arg id "$id" --argjson params "$params" '{id: $id, toolName: "exec", params: $params}')

# Nobody waits any more: the request goes, so that nobody is asked in vain.
withdraw() {
  trap '' INT TERM
  post "/$id/withdraw" '{"reason":"interrupted"}' || not_run 1 "interrupted, and not withdrawn: $(field detail)"
  not_run 12 'interrupted; the request is withdrawn'
}
trap withdraw INT TERM
wait=
while :; do
  post "?${wait}claim=1&claimId=$claim" "$request" || not_run 1 "no answer, or refused: $(field detail)"
  case $(field status) in
  pending)
    [ -n "$wait" ] || echo "ask.sh: waiting for approval $(field code); Ctrl-C withdraws it" >&2
    wait='wait=55s&'
    ;;
  approved) break ;;
  denied) not_run 10 "denied: $(field reason)" ;;
  expired) not_run 11 'nobody decided in time' ;;
  withdrawn) not_run 12 "withdrawn: $(field reason)" ;;
  *) not_run 1 'that was no answer of an approval desk' ;;
  esac
done
trap - INT TERM

# Only the claim says what may run, and it must be what was asked. @sh quotes
# each word, so that eval gives the same words back.
words=$(jq -er --argjson asked "$params" '.claim | select(.toolName == "exec" and .params == $asked)
  | .params.argv | @sh' "$answer") || not_run 1 'no claim of this very call'
eval "set -- $words"
case $1 in -*) not_run 1 'a program must not begin with -' ;; esac
status=0
(exec "$@") || status=$? # exec runs programs only, nothing that the shell has built in

result=$(jq -nc --argjson code "$status" --arg claim "$claim" '{claimId: $claim, status: (if $code == 0 then "succeeded" else "failed" end), exitCode: $code}')
post "/$id/result" "$result" || echo 'ask.sh: the result could not be reported' >&2
exit "$status"
