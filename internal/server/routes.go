package server

import (
	"net/http"
	"reflect"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

var (
	waitParam = param{name: "wait", kind: "string", check: checkWait,
		doc: "Wait so long for a final status: a duration such as 25s, or seconds; at most a minute."}

	asker    = []auth.Scope{auth.Request}
	operator = []auth.Scope{auth.Decide}
	either   = []auth.Scope{auth.Request, auth.Decide}
	admin    = []auth.Scope{auth.Admin}

	deciders  = []auth.Scope{auth.Decide, auth.Admin}
	operators = []auth.Scope{auth.Decide, auth.Audit, auth.Admin}
	anyScope  = auth.Scopes()
)

// personAway is the path of a person's absence.
const personAway = "/v1/people/{name}/away"

// routes is the API. The mux and its description are made from this table.
func (s *Server) routes() []route {
	answer, ok := reflect.TypeFor[api.Approval](), []int{http.StatusOK}
	one := "/v1/approvals/{id}"
	create := route{
		method: "POST", path: "/v1/approvals", name: "createApproval", scopes: either,
		summary: "Ask for one call (with operator.approvals alone: for a drill). 201 when an approval was created and is still pending at the time of the " +
			"answer.",
		query: []param{waitParam,
			{name: "claim", kind: "string", enum: []string{"1", "0", "true", "false"},
				doc: "1: claim it at once when it is approved; the answer then carries claim."},
			{name: "claimId", kind: "string", check: checkClaimID,
				doc: "With claim: names the claim, so that a lost answer can be asked for again."},
			{name: "resume", kind: "string", enum: []string{"1", "0", "true", "false"},
				doc: "1, with claim: an approved call that is the same, of the same session, answers too if " +
					"it was not claimed yet. So you collect an approval that was granted after you stopped waiting, once."}},
		in: reflect.TypeFor[api.CreateRequest](), out: answer, status: []int{http.StatusOK, http.StatusCreated},
		codes: []approval.Code{approval.CodeOriginNotAllowed, approval.CodeIDConflict, approval.CodeAlreadyResolved,
			approval.CodeNotClaimable,
			approval.CodeAlreadyUsed, approval.CodeApprovalsDisabled},
		serve: with(s.create),
	}
	claim := route{
		method: "POST", path: one + "/claim", name: "claimApproval", scopes: asker,
		summary: "Fetch an approved call, once, right before it runs.",
		in:      reflect.TypeFor[api.ClaimRequest](), out: reflect.TypeFor[api.Claim](), status: ok,
		serve: with(s.claim),
		codes: []approval.Code{approval.CodeNotFound, approval.CodeNotClaimable, approval.CodeAlreadyUsed,
			approval.CodeFingerprintMismatch, approval.CodeRetryDataGone},
	}
	return []route{
		create,
		{
			method: "GET", path: "/v1/approvals", name: "listApprovals", scopes: either,
			summary: "Approvals, newest first: your own, or all of them with operator.approvals.",
			query: []param{
				{name: "status", kind: "string", enum: []string{"pending", "approved", "denied", "expired",
					"withdrawn"}},
				{name: "agentId", kind: "string"}, {name: "sessionKey", kind: "string"},
				{name: "toolName", kind: "string"},
				{name: "round", kind: "string", enum: []string{"open"},
					doc: "open: only approved calls with an open vote on one more run. A page may then have fewer than its limit."},
				{name: "limit", kind: "integer", check: checkLimit, doc: "1 to 200; 50 if not given."},
				{name: "cursor", kind: "string", doc: "nextCursor of the page before."}},
			out: reflect.TypeFor[api.List](), status: ok, serve: without(s.list),
		},
		{
			method: "GET", path: one, name: "getApproval", scopes: either,
			summary: "One approval: by its owner's id, or for operators by id, code, or the prefix of a server's id.",
			query:   []param{waitParam}, out: answer, status: ok, serve: without(s.get),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeAmbiguousID},
		},
		{
			method: "POST", path: one + "/resolve", name: "resolveApproval", scopes: operator,
			summary: "Vote as the token's person. The same vote again is fine, also after the end. While a retry round is " +
				"open, retry and deny count for that.",
			in: reflect.TypeFor[api.ResolveRequest](), out: answer, status: ok, serve: with(s.resolve),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeAmbiguousID, approval.CodeNotAnApprover, approval.CodeSelfApproval,
				approval.CodeStepUpRequired, approval.CodeNotClaimable, approval.CodeRetryDataGone,
				approval.CodeAlreadyResolved, approval.CodeDecisionNotOffered},
		},
		{
			method: "POST", path: one + "/withdraw", name: "withdrawApproval", scopes: either,
			summary: "Withdraw an approval that the asker no longer needs: a pending one ends withdrawn, and an unclaimed yes for once, for which no other request waits, is taken back.",
			in:      reflect.TypeFor[api.WithdrawRequest](), out: answer, status: ok, serve: with(s.withdraw),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeAlreadyResolved},
		},
		claim,
		{
			method: "POST", path: one + "/revoke", name: "revokeApproval", scopes: operator,
			summary: "Take an approved, unclaimed approval back.",
			in:      reflect.TypeFor[api.RevokeRequest](), out: answer, status: ok, serve: with(s.revoke),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeAmbiguousID, approval.CodeNotClaimable, approval.CodeAlreadyUsed},
		},
		{
			method: "POST", path: one + "/result", name: "reportResult", scopes: asker,
			summary: "Tell how the execution went, once, after the claim.",
			in:      reflect.TypeFor[api.ResultRequest](), out: answer, status: ok, serve: with(s.result),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeNotClaimable, approval.CodeAlreadyUsed},
		},
		{
			method: "POST", path: one + "/retry", name: "retryApproval", scopes: operator,
			summary: "Vote, as the token's person, to let an approved call run once more; the first vote opens a round. " +
				"Once the rule's quorum said so, its owner may claim it again. At most three times.",
			in: reflect.TypeFor[api.RetryRequest](), out: answer, status: ok, serve: with(s.retry),
			codes: []approval.Code{approval.CodeNotFound, approval.CodeAmbiguousID, approval.CodeNotAnApprover, approval.CodeSelfApproval,
				approval.CodeStepUpRequired, approval.CodeDecisionNotOffered, approval.CodeNotClaimable, approval.CodeRetryDataGone},
		},
		{
			method: "POST", path: "/v1/evaluate", name: "evaluate", scopes: either,
			summary: "What policy says of a call, by static rules and grants alone, without creating an approval, sending a message or " +
				"asking another service. " +
				"Many calls at once: at most 1,000 in 4 MiB, each answered by itself.",
			in: reflect.TypeFor[api.CreateRequest](), out: reflect.TypeFor[api.Evaluation](), status: ok,
			serve: s.evaluate,
			ins:   reflect.TypeFor[api.EvaluateRequest](), outs: reflect.TypeFor[api.Evaluations](), maxBody: maxBodies,
			codes: []approval.Code{approval.CodeOriginNotAllowed, approval.CodeApprovalsDisabled},
		},
		{
			method: "POST", path: "/v1/tools", name: "filterTools", scopes: either,
			summary: "Which of an agent's tools the hard layers leave: show a model no others. Each call is " +
				"still judged by itself.",
			in: reflect.TypeFor[api.ToolsRequest](), out: reflect.TypeFor[api.Tools](), status: ok,
			serve: with(s.tools),
			codes: []approval.Code{approval.CodeApprovalsDisabled},
		},
		{
			method: "GET", path: "/v1/policy", name: "getPolicy", scopes: operator,
			summary: "The effective policy, and who could approve each class now.",
			out:     reflect.TypeFor[api.Policy](), status: ok, serve: without(s.policy),
		},
		{
			method: "POST", path: "/v1/policy/reload", name: "reloadPolicy", scopes: admin,
			summary: "Read the configuration again and put its policy in force; a mistake in it changes no part.",
			in:      reflect.TypeFor[api.Empty](), out: reflect.TypeFor[api.Reloaded](), status: ok,
			serve: with(s.reload),
		},
		{
			method: "GET", path: "/v1/duty", name: "getDuty", scopes: operators,
			summary: "Who is on duty by each roster, until when, and who follows.",
			out:     reflect.TypeFor[api.Duties](), status: ok, serve: without(s.duty),
		},
		{
			method: "PUT", path: personAway, name: "setAway", scopes: deciders,
			summary: "Say that a person is away, in place of an earlier absence: a person's own token, or " +
				"operator.admin, which may not lend another's roles to itself.",
			in: reflect.TypeFor[api.AwayRequest](), out: reflect.TypeFor[api.Away](), status: ok, serve: with(s.setAway),
			codes: []approval.Code{approval.CodeNotFound},
		},
		{
			method: "DELETE", path: personAway, name: "setBack", scopes: deciders,
			summary: "Say that a person is back: a person's own token, or operator.admin.",
			out:     reflect.TypeFor[api.Back](), status: ok, serve: without(s.setBack), codes: []approval.Code{approval.CodeNotFound},
		},
		{
			method: "POST", path: "/v1/pairing", name: "startPairing", scopes: admin,
			summary: "A code for /pair CODE in a chat, which makes known the account that sends it and that chat. Any " +
				"earlier one ends.",
			in: reflect.TypeFor[api.Empty](), out: reflect.TypeFor[api.PairingCode](),
			status: []int{http.StatusCreated}, serve: with(s.startPairing),
		},
		{
			method: "GET", path: "/v1/pairing/{id}", name: "getPairing", scopes: admin,
			summary: "The state of a pairing: who gave the code, and what the configuration lacks to let them " +
				"decide there.",
			out: reflect.TypeFor[api.Pairing](), status: ok, serve: without(s.pairing),
			codes: []approval.Code{approval.CodeNotFound},
		},
		{
			method: "POST", path: "/v1/pairing/{id}/accept", name: "acceptPairing", scopes: admin,
			summary: "Write the account that gave the code into a configuration that serve --local generated and that " +
				"is unedited, and put it in force. Any other is its operator's to edit.",
			in: reflect.TypeFor[api.Empty](), out: reflect.TypeFor[api.Reloaded](), status: ok,
			serve: with(s.acceptPairing), codes: []approval.Code{approval.CodeNotFound},
		},
		{
			method: "POST", path: "/v1/login-links", name: "createLoginLink", scopes: []auth.Scope{auth.Decide, auth.Admin},
			summary: "A link that signs a person in to the desk's pages: once, within five minutes, at a click. For the " +
				"token's own person with operator.approvals, for anybody with operator.admin.",
			in: reflect.TypeFor[api.LoginRequest](), out: reflect.TypeFor[api.LoginLink](),
			status: []int{http.StatusCreated}, serve: with(s.loginLink),
		},
		{
			method: "GET", path: "/v1/stats", name: "getStats", scopes: either,
			summary: "How often people were asked, how soon they heard of it, looked and decided: of your own " +
				"approvals, or of all of them with operator.approvals.",
			query: []param{{name: "sinceMs", kind: "integer", check: checkTime,
				doc: "Those that were asked since then, in Unix milliseconds; the last seven days if not given."}},
			out: reflect.TypeFor[api.Stats](), status: ok, serve: without(s.stats),
		},
		{
			method: "POST", path: "/v1/stats/rebuild", name: "rebuildStats", scopes: []auth.Scope{auth.Admin},
			summary: "Rebuild the sums from which stats are counted, in the background. Until they are complete a count takes longer.",
			in:      reflect.TypeFor[api.Empty](), out: reflect.TypeFor[api.Empty](), status: ok, serve: with(s.rebuildStats),
		},
		{
			method: "GET", path: "/v1/token", name: "getToken", scopes: anyScope,
			summary: "What the token that asks is, and what it may do.",
			out:     reflect.TypeFor[api.TokenInfo](), status: ok, serve: without(s.tokenInfo),
		},
		{
			method: "GET", path: "/v1/grants", name: "listGrants", scopes: operator,
			summary: "Grants and cool-downs in force, newest first.",
			query: []param{{name: "owner", kind: "string"}, {name: "agentId", kind: "string"},
				{name: "sessionKey", kind: "string"}},
			out: reflect.TypeFor[api.Grants](), status: ok, serve: without(s.grants),
		},
		{
			method: "POST", path: "/v1/grants", name: "addGrant", scopes: operator,
			summary: "Grant an operator's pattern, or with preview only show what it would have allowed among " +
				"the calls on record.",
			in: reflect.TypeFor[api.GrantRequest](), out: reflect.TypeFor[api.GrantPreview](),
			status: []int{http.StatusOK, http.StatusCreated}, serve: with(s.addGrant),
		},
		{
			method: "DELETE", path: "/v1/grants/{id}", name: "endGrant", scopes: either,
			summary: "End a grant; an owner only its own, and no cool-down.",
			out:     reflect.TypeFor[api.Ended](), status: ok, serve: without(s.dropGrant),
			codes: []approval.Code{approval.CodeNotFound},
		},
		{
			method: "DELETE", path: sessionGrants, name: "endSessionGrants", scopes: either,
			summary: "End the grants of a session; an owner only its own.", out: reflect.TypeFor[api.Ended](),
			status: ok, serve: without(s.dropSession),
		},
		{
			method: "GET", path: "/v1/events", name: "streamEvents", scopes: either,
			summary: "Server-sent events: what happens to your own approvals, or to all of them with " +
				"operator.approvals. The header Last-Event-ID resumes after that event, 0 from the start; " +
				"without it the stream begins now.",
			query: []param{{name: "lastEventId", kind: "string",
				doc: "As the header Last-Event-ID, for clients that cannot send it."}},
			// the schema is of one event's data
			out: reflect.TypeFor[api.Event](), outs: reflect.TypeFor[api.AbsenceEvent](), media: "text/event-stream",
			status: ok, stream: s.events,
		},
		{
			method: "GET", path: "/v1/audit", name: "readAudit", scopes: []auth.Scope{auth.Audit},
			summary: "The audit log, newest first: each record as it was hashed.",
			query: []param{
				{name: "order", kind: "string", enum: []string{"newest", "oldest"}, doc: "newest if not given."},
				{name: "limit", kind: "integer", check: checkLimit, doc: "1 to 200; 50 if not given."},
				{name: "cursor", kind: "string", doc: "nextCursor of the page before."}},
			out: reflect.TypeFor[api.AuditPage](), status: ok, serve: without(s.audit),
		},
		{
			method: "GET", path: "/v1/audit/verify", name: "verifyAudit", scopes: []auth.Scope{auth.Audit},
			summary: "Check the whole chain of the audit log. One check runs at a time (429 meanwhile), and ends " +
				"when its client goes.",
			query: []param{{name: "new", kind: "string", enum: []string{"1", "0", "true", "false"},
				doc: "Only what came after the checkpoint up to which the last check found all good; rows of the store are left out."}},
			out: reflect.TypeFor[api.AuditReport](), status: ok, serve: without(s.verifyAudit),
		},
		{method: "GET", path: "/.well-known/jwks.json", name: "receiptKeys",
			summary: "Public keys of the receipts (RFC 7517).",
			out:     reflect.TypeFor[api.KeySet](), media: "application/jwk-set+json", status: ok, raw: s.jwks},
		{method: "GET", path: "/.well-known/approvalbot-keys", name: "deskKeys",
			summary: "The keys that this desk's clients pin, and what leads to them from keys before.",
			out:     reflect.TypeFor[api.DeskKeys](), status: ok, raw: s.deskKeys},
		{
			method: "POST", path: "/v1/messages/intercept", name: "interceptMessage", scopes: asker,
			summary: "What a model said, with every tool call replaced that may not simply run.",
			in:      reflect.TypeFor[api.InterceptRequest](), out: reflect.TypeFor[api.InterceptAnswer](),
			status: ok, serve: with(s.interceptMessage),
			codes: []approval.Code{approval.CodeOriginNotAllowed, approval.CodeIDConflict, approval.CodeApprovalsDisabled},
		},
		{
			method: "POST", path: "/v1/messages/decisions", name: "decideMessages", scopes: either,
			summary: "The state of the approvals of a conversation. Decisions in it count as the vote of the " +
				"token's person, and for no other token.",
			in: reflect.TypeFor[api.DecisionsRequest](), out: reflect.TypeFor[api.DecisionsAnswer](),
			status: ok, serve: with(s.decideMessages),
		},
		{
			method: "POST", path: "/v1/messages/prepare", name: "prepareMessages", scopes: either,
			summary: "A conversation as the model may see it: without approvals.",
			in:      reflect.TypeFor[api.PrepareRequest](), out: reflect.TypeFor[api.PrepareAnswer](), status: ok,
			serve: with(s.prepareMessages),
		},
		{
			method: "POST", path: hookPath, name: "hook", scopes: asker, hook: true,
			summary: "An agent runtime's HTTP hook, in that runtime's own words. Every answer is 200 with an " +
				"explicit decision: any failure, a bad token included, is the deny of that runtime and " +
				"event. Fields that are not known are ignored.",
			query: []param{{name: "limit", kind: "string", check: checkSpan,
				doc: "The hook's timeout in the runtime's configuration, such as 600s or 24h: the answer comes " +
					"before it. Without it the runtime's own default is taken for granted."}},
			in: reflect.TypeFor[map[string]any](), out: reflect.TypeFor[map[string]any](), status: ok,
			codes: []approval.Code{approval.CodeNotFound},
		},
		large(create, "createLargeApproval"),
		large(claim, "claimLargeApproval"),
		{
			method: "POST", path: "/v1/viewer-tokens", name: "createViewerToken", scopes: asker,
			summary: "A token for an <approval-dialog> in a web page: for ten minutes it shows only which approvals of " +
				"one of your sessions are pending.",
			in: reflect.TypeFor[api.ViewerTokenRequest](), out: reflect.TypeFor[api.ViewerToken](),
			status: []int{http.StatusCreated}, serve: with(s.viewerToken),
		},
		{
			method: "GET", path: "/v1/callbacks", name: "listCallbacks", scopes: operator,
			summary: "Calls back to owners that have not succeeded, newest first.",
			out:     reflect.TypeFor[api.Callbacks](), status: ok, serve: without(s.callbacks),
		},
		{
			method: "POST", path: "/v1/callbacks/{id}/retry", name: "retryCallback", scopes: operator,
			summary: "Try a call that was given up for another day.",
			in:      reflect.TypeFor[api.Empty](), out: reflect.TypeFor[api.Empty](), status: ok,
			serve: with(s.retryCallback), codes: []approval.Code{approval.CodeNotFound},
		},
		{method: "GET", path: "/healthz", name: "health", summary: "The process lives.",
			out: reflect.TypeFor[string](), media: "text/plain", status: ok, raw: s.health},
		{method: "GET", path: "/readyz", name: "ready", summary: "Store and policy are ready; the state of each " +
			"chat is in the body.",
			out: reflect.TypeFor[api.Ready](), status: []int{http.StatusOK, http.StatusServiceUnavailable},
			raw: s.ready},
		{method: "GET", path: "/metrics", name: "metrics", summary: "Prometheus metrics.",
			out: reflect.TypeFor[string](), media: "text/plain", status: ok, raw: s.scrape},
		{method: "GET", path: "/openapi.json", name: "openapi", summary: "This description.",
			out: reflect.TypeFor[map[string]any](), status: ok, raw: s.describe},
	}
}

// large is a route for calls that are larger than a body of the API, such as the writing of a file. Below
// /v1/ the limit is promised.
func large(rt route, name string) route {
	rt.summary = "As " + rt.name + ", for a call whose body is larger than 256 KiB, and at most 1 MiB."
	rt.path, rt.name, rt.maxBody = "/hooks"+strings.TrimPrefix(rt.path, "/v1"), name, maxLarge
	return rt
}
