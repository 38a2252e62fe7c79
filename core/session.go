package core

// Session is one browser in which a person is signed in to the desk's pages. It
// gives no right of its own: what the person may do is looked up at every step.
type Session struct {
	ID        string // shown to the person, who may end it; not the cookie
	Person    string
	How       string // link, passkey, oidc or telegram
	Browser   string // what it called itself, cut; shown to the person
	Enrols    bool   // an operator's link began it, by which the person may make a first passkey
	CreatedMs int64
	UsedMs    int64
	EndsMs    int64 // at the latest
}
