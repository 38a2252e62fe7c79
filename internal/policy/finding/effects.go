package finding

import (
	"approvalbot/internal/approval"
)

// Effects is a set of side effects, one bit each in the order of EffectNames.
type Effects uint16

const (
	fsRead Effects = 1 << iota
	fsWrite
	ProcExec
	netRead
	ExternalWrite
	SendsMessage
	pays
	credentials
	securityChange
	dataLoss
)

// Outside are the effects that leave the workspace.
const Outside = netRead | ExternalWrite | SendsMessage | pays | credentials | securityChange | dataLoss

// EffectNames are the contract's names for them.
var EffectNames = [...]approval.SideEffect{
	approval.FilesystemRead, approval.FilesystemWrite, approval.ProcessExec, approval.NetworkRead, approval.ExternalWrite,
	approval.MessageSend, approval.Payment, approval.CredentialAccess, approval.SecurityChange, approval.DataLoss,
}

// Names appends the side effects in the contract's order, `none` if there is no effect.
func (e Effects) Names(list []approval.SideEffect) []approval.SideEffect {
	if e == 0 {
		return append(list, approval.NoSideEffect)
	}
	for i, name := range EffectNames {
		if e&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}
