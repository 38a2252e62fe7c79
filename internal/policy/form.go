package policy

import (
	"approvalbot/core"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// forms says how people are told what a call of a tool does, by what policy takes it for.
var forms = [...]core.Form{
	tool.Reader: core.FormRead, tool.Writer: core.FormWrite, tool.Editor: core.FormWrite, tool.Patcher: core.FormPatch,
	tool.Deleter: core.FormDelete, tool.Web: core.FormFetch, tool.Messenger: core.FormMessage,
	tool.Payer: core.FormPayment, tool.Database: core.FormDatabase, tool.Exec: core.FormCommand,
}

func (j *judging) form() core.Form {
	if j.Found.Has(finding.ApprovesPlan) {
		return core.FormPlan
	}
	return forms[j.Tool.Kind]
}
