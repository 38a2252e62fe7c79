// Package gateway serves approvals over WebSocket, in the frames and methods
// that existing gateway clients speak: tool.approval.* and two older dialects of
// it, exec.approval.* and agentshield.approval.*. It makes no decision itself:
// every method is a step of the Gate, under the same rules as at every door.
// docs/gateway.md shows a whole conversation and says how it differs from the
// clients' first server; schema/gateway.json describes every frame.
package gateway
