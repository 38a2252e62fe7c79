package approval

// InDigest reports whether a digest lists the card in its place.
func (d Delivery) InDigest() bool { return d.State == Folded || d.State == Listed }
