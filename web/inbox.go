package web

// inboxPages are those that show approvals, and what the desk knows of itself.
func (w *Web) inboxPages() []page { return nil }
