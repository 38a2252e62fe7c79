// Command receipt (JWKS-FILE RECEIPT CMD ARG…) runs CMD only with a receipt for it.
package main

import (
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"syscall"
	"time"

	"approvalbot/proof"
)

func main() {
	keys := must(proof.ParseJWKS(must(os.ReadFile(os.Args[1])))) // fetched once, from a desk that you trust
	argv := os.Args[3:]
	params := must(json.Marshal(map[string]any{"argv": argv}))
	print := must(proof.Fingerprint("exec", params, nil)) // of what would run, not of what somebody says
	must(proof.Verify(os.Args[2], keys, time.Now(), print))
	must("", syscall.Exec(must(exec.LookPath(argv[0])), argv, os.Environ()))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal("not run: ", err)
	}
	return v
}
