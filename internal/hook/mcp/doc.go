// Package mcp lets agents reach the desk over the Model Context Protocol: a server
// whose tools ask the desk, and a proxy that is put before any other server and asks
// for every call of its tools.
//
// The server answers runtimes that take many an answer for a yes: an empty one, an
// error, a broken connection. So its tools hook and permission_prompt always answer
// with an explicit decision, and every failure is a deny.
package mcp
