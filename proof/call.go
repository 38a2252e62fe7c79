package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// Fingerprint computes the fingerprint of the call that an executor is about to
// run, as the desk does: lower-case hex SHA-256 of the RFC 8785 form of {bind?,
// params, toolName}. params is a JSON object. bind is nil unless the approval
// was asked with one; an empty bind differs from nil.
func Fingerprint(toolName string, params json.RawMessage, bind *approval.Bind) (string, error) {
	sealed, err := approval.Canonical(toolName, params, bind)
	if err != nil {
		return "", fmt.Errorf("the call's params cannot be fingerprinted: they %w", err)
	}
	return sealed.Fingerprint, nil
}

// FingerprintCall is [Fingerprint] of a call in a file: a JSON object with
// toolName, params and, if the approval has one, bind. The answer to a claim is
// such an object; its other members (a fingerprint too) are ignored. It refuses
// objects that two readers could read differently: with a name twice, or in
// another case.
func FingerprintCall(call []byte) (string, error) {
	members, err := object(call, "toolName", "params", "bind")
	if err != nil {
		return "", fmt.Errorf("the call %w", err)
	}
	var tool string
	if json.Unmarshal(members["toolName"], &tool) != nil || tool == "" || members["params"] == nil {
		return "", errors.New("the call needs toolName (text) and params (a JSON object)")
	}
	bind, err := readBind(members["bind"])
	if err != nil {
		return "", fmt.Errorf("the call's bind %w", err)
	}
	return Fingerprint(tool, members["params"], bind)
}

// readBind refuses unknown members: they would not be part of the fingerprint.
func readBind(raw json.RawMessage) (bind *approval.Bind, err error) {
	if raw == nil {
		return nil, nil
	}
	known := []string{"workdir", "host", "envHash"}
	members, err := object(raw, known...)
	if err != nil {
		return nil, err
	}
	for name := range members {
		if !slices.Contains(known, name) {
			return nil, errors.New("has other members than workdir, host and envHash")
		}
	}
	if json.Unmarshal(raw, &bind) != nil {
		return nil, errors.New("has a member that is not text")
	}
	return bind, nil
}

// object reads a JSON object's members. A name may not occur twice, nor differ
// from a known name in case only.
func object(b []byte, known ...string) (map[string]json.RawMessage, error) {
	problem := errors.New("is not a JSON object")
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, problem
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil, problem
		}
		other := func(k string) bool { return k != name && strings.EqualFold(k, name) }
		if _, twice := members[name]; twice || slices.ContainsFunc(known, other) {
			return nil, errors.New("has a member twice, or one with wrong upper or lower case in its name")
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, problem
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more text after it")
	}
	return members, nil
}
