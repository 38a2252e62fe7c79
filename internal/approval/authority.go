package approval

func ByPeople(v Vote) bool { return v.Approver == UserRequest }
