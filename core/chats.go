package core

// Chats is the Gate for people in chats: with what they do there alone, and what is done about their
// messages.
type Chats struct{ *Gate }

// Chats gives what is for chats.
func (g *Gate) Chats() Chats { return Chats{g} }
