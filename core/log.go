package core

import (
	"fmt"
	"strings"
)

// BadRows is the error for a store whose rows are not as the desk wrote them.
type BadRows struct {
	Problems []string // a sentence each
	More     int      // that are not among them
}

// Error says all that was found.
func (b *BadRows) Error() string {
	s := strings.Join(b.Problems, "; ")
	if b.More > 0 {
		s += fmt.Sprintf("; and %d more", b.More)
	}
	return s
}
