#!/bin/sh
# Runs the call in CALL.json only with a valid receipt for exactly that call:
#   run-with-receipt.sh CALL.json RECEIPT JWKS.json
# CALL.json is what a claim answered: {"toolName":"exec","params":{"argv":[…]},…}
set -eu
[ $# -eq 3 ] || { echo 'usage: run-with-receipt.sh CALL.json RECEIPT JWKS.json' >&2; exit 2; }
call=$(mktemp)
trap 'rm -f "$call"' EXIT
cat "$1" >"$call" # what is checked is what runs, whoever writes to CALL.json meanwhile
approvalbot admin receipt verify "$2" --jwks "$3" --params "$call" >&2 || { echo 'not run: no valid receipt' >&2; exit 1; }
# Only an exec call of words, bound to no place. @sh quotes each word for the
# shell; a NUL, which no word can carry there, is refused.
words=$(jq -er 'select(.toolName == "exec" and (has("bind") | not) and (.params | keys == ["argv"])) | .params.argv
	| select(length > 0 and all(.[]; type == "string" and (explode | all(. > 0)))) | @sh' "$call") ||
	{ echo 'not run: this runs tool exec with argv and nothing else' >&2; exit 1; }
eval "set -- $words"
"$@"
