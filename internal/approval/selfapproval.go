package approval

import "approvalbot/internal/platform"

// Person gives the account whose private chat with the bot the place is. The place
// is in normal form.
func (t Target) Person() (r Requester, private bool) {
	on := platform.ByName(t.Channel)
	if on == nil {
		return Requester{}, false
	}
	user, private := on.User(t.To)
	if !private {
		return Requester{}, false
	}
	return Requester{Channel: t.Channel, UserID: user}, true
}

// Direct gives the account whose direct messages with a bot the place is.
func (t Target) Direct() (r Requester, private bool) {
	t = t.Normal()
	return t.On(Platform(t)).Person()
}
