package finding

import (
	"math/bits"

	"approvalbot/internal/approval"
)

// Set is a set of codes. Codes are only added while a call is read.
type Set [3]uint64

const _ = uint(192 - CodeCount) // every code has its bit

func Of(codes ...Code) (f Set) {
	for _, c := range codes {
		f.Add(c)
	}
	return f
}

func (f *Set) Add(c Code)     { f[c>>6] |= 1 << (c & 63) }
func (f Set) Has(c Code) bool { return f[c>>6]&(1<<(c&63)) != 0 }
func (f Set) Any(g Set) bool  { return f[0]&g[0]|f[1]&g[1]|f[2]&g[2] != 0 }
func (f Set) Or(g Set) Set    { return Set{f[0] | g[0], f[1] | g[1], f[2] | g[2]} }
func (f Set) And(g Set) Set   { return Set{f[0] & g[0], f[1] & g[1], f[2] & g[2]} }

func (f Set) Without(g Set) Set { return Set{f[0] &^ g[0], f[1] &^ g[1], f[2] &^ g[2]} }

// Class is the highest class of any finding.
func (f Set) Class() approval.RiskClass {
	for c := approval.R4; c > approval.R0; c-- {
		if f.Any(OfClass[c]) {
			return c
		}
	}
	return approval.R0
}

// Effects joins the side effects of all findings.
func (f Set) Effects() (e Effects) {
	for i, w := range f {
		for ; w != 0; w &= w - 1 {
			e |= Reasons[i*64+bits.TrailingZeros64(w)].effects
		}
	}
	return e
}

// List appends the codes that explain the class to out, worst first. It leaves harmless
// codes out if there are others.
func (f Set) List(out []Code) []Code {
	if f == (Set{}) {
		return out
	}
	least := approval.R0
	if f.Class() > approval.R0 {
		least = approval.R1
	}
	for c := approval.R4; c >= least; c-- {
		for i, of := range OfClass[c] {
			for w := f[i] & of; w != 0; w &= w - 1 {
				out = append(out, Code(i*64+bits.TrailingZeros64(w)))
			}
		}
	}
	return out
}

// OfClass holds the codes of each class.
var OfClass = func() (sets [approval.R4 + 1]Set) {
	for c := range CodeCount {
		sets[Reasons[c].Class].Add(c)
	}
	return sets
}()

// Opaque are the findings after which part of the call remains unread, so that
// its text is searched for the words of destructive commands.
var Opaque = Of(DynamicCommand, UnusualShell, ControlCharacters, UnparsableCommand, CommandTooLong,
	NestedTooDeep, TooComplex, WindowsShell, InterpreterCode, InterpreterInput, EvaluatesText, DatabaseClient)

// Unread are those of them after which a part of the text was not read as what it is.
var Unread = Opaque.Without(Of(UnusualShell, DatabaseClient))

// OnlyReads are the findings of R3 that are only about what is read, not about what is
// changed.
var OnlyReads = Of(ReadsSecret, MayReadSecret, ReadsEnvironment, MetadataService, ControlPlane, PrivateAddress, OddAddress)

// ProjectCode are the findings about which the operator's key projectCode decides. Compiling is one: with cgo the compiler
// reads any file that a source names.
var ProjectCode = Of(RunsProjectCode, LocalBuild)

// Unrecognised are the findings which mean only that policy does not know what something
// is. A classifier may say what it is, if it is sure.
var Unrecognised = Of(UnknownTool, UnknownCommand, UnusualShell)

// Unsure are the findings that rest on not knowing.
var Unsure = Opaque.Or(Of(UnknownTool, MalformedCall, UnknownCommand, UnknownOption, UnknownParameters, DynamicArgument, DynamicPath,
	MayReadSecret, OddAddress, NoWorkspace, RunsScript, ProgramByPath))
