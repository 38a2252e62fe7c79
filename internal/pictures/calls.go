package main

// shownCall is the one of the README.
var shownCall = call{tool: "exec", params: `{"command":"terraform apply -auto-approve plan.out","workdir":"/srv/infra"}`,
	why: "weekly patch run, plan was reviewed in #214", person: "carol"}
