package web

// stepUpPages are those by which people keep passkeys, and sign a yes with one.
func (w *Web) stepUpPages() []page { return nil }
