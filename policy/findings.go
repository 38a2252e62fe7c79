package policy

import (
	"math/bits"

	"approvalbot/core"
)

// effects is a set of side effects, one bit each in the order of effectNames.
type effects uint16

const (
	fsRead effects = 1 << iota
	fsWrite
	procExec
	netRead
	externalWrite
	sendsMessage
	pays
	credentials
	securityChange
	dataLoss
)

var effectNames = [...]core.SideEffect{
	core.FilesystemRead, core.FilesystemWrite, core.ProcessExec, core.NetworkRead, core.ExternalWrite,
	core.MessageSend, core.Payment, core.CredentialAccess, core.SecurityChange, core.DataLoss,
}

// names appends the side effects in the contract's order, "none" for no effect.
func (e effects) names(list []core.SideEffect) []core.SideEffect {
	if e == 0 {
		return append(list, core.NoSideEffect)
	}
	for i, name := range effectNames {
		if e&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// findings is a set of codes. Codes are only added while a call is read.
type findings [2]uint64

const _ = uint(128 - codeCount) // every code has its bit

func setOf(codes ...code) (f findings) {
	for _, c := range codes {
		f.add(c)
	}
	return f
}

func (f *findings) add(c code)             { f[c>>6] |= 1 << (c & 63) }
func (f findings) has(c code) bool         { return f[c>>6]&(1<<(c&63)) != 0 }
func (f findings) any(g findings) bool     { return f[0]&g[0]|f[1]&g[1] != 0 }
func (f findings) or(g findings) findings  { return findings{f[0] | g[0], f[1] | g[1]} }
func (f findings) and(g findings) findings { return findings{f[0] & g[0], f[1] & g[1]} }

func (f findings) without(g findings) findings { return findings{f[0] &^ g[0], f[1] &^ g[1]} }

// class is the highest class of any finding.
func (f findings) class() core.RiskClass {
	for c := core.R4; c > core.R0; c-- {
		if f.any(ofClass[c]) {
			return c
		}
	}
	return core.R0
}

// effects joins the side effects of all findings.
func (f findings) effects() (e effects) {
	for i, w := range f {
		for ; w != 0; w &= w - 1 {
			e |= reasons[i*64+bits.TrailingZeros64(w)].effects
		}
	}
	return e
}

// list appends the codes that explain the class to out, worst first: what is
// harmless is left out where something is not.
func (f findings) list(out []code) []code {
	least := core.R0
	if f.class() > core.R0 {
		least = core.R1
	}
	for c := core.R4; c >= least; c-- {
		for w := f[0] & ofClass[c][0]; w != 0; w &= w - 1 {
			out = append(out, code(bits.TrailingZeros64(w)))
		}
		for w := f[1] & ofClass[c][1]; w != 0; w &= w - 1 {
			out = append(out, code(64+bits.TrailingZeros64(w)))
		}
	}
	return out
}

// ofClass holds the codes of each class.
var ofClass = func() (sets [core.R4 + 1]findings) {
	for c := range codeCount {
		sets[reasons[c].class].add(c)
	}
	return sets
}()

// opaque are the findings after which part of the call remains unread, so that
// its text is searched for the words of destructive commands.
var opaque = setOf(dynamicCommand, unusualShell, controlCharacters, unparsableCommand, commandTooLong,
	nestedTooDeep, tooComplex, windowsShell, interpreterCode, interpreterInput, evaluatesText, databaseClient)

// unsure are the findings that rest on not knowing.
var unsure = opaque.or(setOf(unknownTool, malformedCall, unknownCommand, unknownOption, unknownParameters, dynamicArgument, dynamicPath,
	mayReadSecret, oddAddress, noWorkspace, runsScript, programByPath))
