package workspace

// PlaceKind is a kind of place in which a file may lie.
type PlaceKind uint8

const (
	InWorkspace    PlaceKind = iota // a part of it
	WholeWorkspace                  // the workspace itself
	InTmp
	Elsewhere
)

// Kind says in which kind of place a file lies.
func (p *Place) Kind(file string, open bool) PlaceKind {
	switch {
	case open || p.Inside(file):
		return InWorkspace
	case p.RootPath(file):
		return WholeWorkspace
	case Under(file, "/tmp"), Under(file, "/var/tmp"), Under(file, "/private/tmp"):
		return InTmp
	}
	return Elsewhere
}
