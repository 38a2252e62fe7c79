package approval

// InDigest reports whether the card is one that a digest lists in its stead.
func (d Delivery) InDigest() bool { return d.State == Folded || d.State == Listed }
