// Package acp relays between an editor and an agent that speak the Agent Client
// Protocol, line by line over standard streams, and has the desk answer what the agent
// asks of its user: session/request_permission. All else passes byte for byte.
//
// What the agent does without asking is not seen here: which mode it runs in decides
// that.
package acp
