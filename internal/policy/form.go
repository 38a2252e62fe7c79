package policy

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// forms says how people are told what a call of a tool does, by what policy takes it for.
var forms = [...]approval.Form{
	tool.Reader: approval.FormRead, tool.Writer: approval.FormWrite, tool.Editor: approval.FormWrite, tool.Patcher: approval.FormPatch,
	tool.Deleter: approval.FormDelete, tool.Web: approval.FormFetch, tool.Messenger: approval.FormMessage,
	tool.Payer: approval.FormPayment, tool.Database: approval.FormDatabase, tool.Exec: approval.FormCommand,
}

func (j *judging) form() approval.Form {
	if j.Found.Has(finding.ApprovesPlan) {
		return approval.FormPlan
	}
	return forms[j.Tool.Kind]
}
