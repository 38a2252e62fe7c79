package web

// dialogPages are the dialog for other people's pages, notifications, and what they need.
func (w *Web) dialogPages() []page { return nil }
