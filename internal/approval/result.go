package approval

func (a Approval) Failed() bool { return a.Result != nil && a.Result.Status != "succeeded" }
