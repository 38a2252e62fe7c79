package config

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
)

const redacted = "<redacted>"

// Secret is text that never prints: not by any verb of fmt, not in JSON or YAML,
// not in a log. string(s) gives it.
type Secret string

// String gives "<redacted>".
func (s Secret) String() string { return redacted }

// GoString gives "<redacted>".
func (s Secret) GoString() string { return redacted }

// Format writes "<redacted>" for every verb, even a wrong one.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText gives "<redacted>"; JSON and YAML use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue gives "<redacted>".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// ID is an account, chat or role number of a platform, in decimal digits. The
// file may hold it as text or as a number.
type ID string

// DecimalID matches what an ID holds.
var DecimalID = lazy.Pattern(`^-?(0|[1-9][0-9]{0,18})$`)

func (id *ID) decodeNode(d *decoder, n *yaml.Node, at spot) {
	text, tag, ok := d.scalar(n, at)
	switch {
	case !ok:
	case tag == "!!float":
		d.mistake(at.path, "lost digits because it is a number; write all digits of the id, in quotes")
	case tag != "!!int" && tag != "!!str" && tag != anyTag || !DecimalID.MatchString(text):
		d.mistake(at.path, "must be a numeric id")
	default:
		*id = ID(text)
	}
}

// Duration is a time span such as 20s, 15m, 1h30m or 90d; the number 0 is also
// allowed.
type Duration time.Duration

const maxDays = 36500

var days = lazy.Pattern(`^([0-9]{1,5})d`)

func (x *Duration) decodeNode(d *decoder, n *yaml.Node, at spot) {
	text, tag, ok := d.scalar(n, at)
	if !ok {
		return
	}
	if tag != "!!str" && text == "0" {
		*x = 0
		return
	}
	span, err := ParseDuration(text)
	if err != nil || tag != "!!str" && tag != anyTag {
		d.mistake(at.path, "must be a time span such as 20s, 15m or 90d")
		return
	}
	*x = Duration(span)
}

// ParseDuration reads what a Duration holds, from zero to a hundred years.
func ParseDuration(text string) (time.Duration, error) {
	total := time.Duration(0)
	if m := days.FindString(text); m != "" {
		n, err := strconv.Atoi(strings.TrimSuffix(m, "d"))
		if err != nil || n > maxDays {
			return 0, strconv.ErrRange
		}
		total, text = time.Duration(n)*day, text[len(m):]
		if text == "" {
			return total, nil
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil || rest < 0 || rest > maxDays*day {
		return 0, strconv.ErrRange
	}
	return total + rest, nil
}

func (r *Risk) decodeNode(d *decoder, n *yaml.Node, at spot) {
	text, _, ok := d.scalar(n, at)
	if !ok {
		return
	}
	if text == "" && at.unsetVar == "empty" {
		*r = Risk{}
		return
	}
	var c approval.RiskClass
	if c.UnmarshalText([]byte(text)) != nil {
		d.mistake(at.path, "must be R0, R1, R2, R3 or R4")
		return
	}
	*r = Risk{Class: c, Set: true}
}

// name matches the allowed names of people, tokens and agents: they are shown
// in the log and on cards. (Patterns here do not count: a class repeated 64
// times is compiled 64 times, at every start, and this one would take 2 MB.)
var name = lazy.Pattern(`^[\p{L}\p{N}][\p{L}\p{N}._-]*$`)

// GoodName reports whether people, tokens and agents may have that name.
func GoodName(s string) bool { return utf8.RuneCountInString(s) <= 64 && name.MatchString(s) }

// Risk is a threshold: a risk class, or none.
type Risk struct {
	Class approval.RiskClass
	Set   bool
}

// Reaches reports whether the class is at or above the threshold.
func (r Risk) Reaches(c approval.RiskClass) bool { return r.Set && c >= r.Class }

const day = 24 * time.Hour
