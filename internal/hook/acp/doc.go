// Package acp relays between an editor and an agent that speak the Agent Client
// Protocol, line by line over standard streams, and has the desk answer what the agent
// asks of its user: session/request_permission. All other messages pass byte for byte.
//
// Calls that the agent makes without asking are not seen here: its mode decides
// which these are.
package acp
