// Package server is the door for programs: the HTTP API.
//
// One table (routes.go) lists the routes; the mux and the OpenAPI description
// are both made from it. Every route goes through the same adapter: who is
// calling, may it, how often, is the request well-formed. Then the Gate of
// package core does the work, and its refusals become problem documents.
//
// This package makes no decisions. It ignores what a client says about itself:
// name and scopes come from the configured token alone.
package server
