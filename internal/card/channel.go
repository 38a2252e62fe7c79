package card

// Mentioned is a person whom a reminder mentions.
type Mentioned struct {
	Name   string
	UserID string // on the platform
}
