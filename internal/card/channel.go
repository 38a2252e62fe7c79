package card

// Mentioned is a person that a reminder mentions.
type Mentioned struct {
	Name   string
	UserID string // on the platform
}
