package approval

// Platform is the channel of the accounts in a chat.
func Platform(t Target) string {
	if t.Channel == VerifierChannel {
		return "telegram"
	}
	return t.Channel
}

// Direct gives the account whose direct messages with a bot the place is.
func (t Target) Direct() (r Requester, private bool) {
	t = t.Normal()
	return t.On(Platform(t)).Person()
}
