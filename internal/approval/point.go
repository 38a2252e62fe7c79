package approval

// Point is what of a call a reason comes from.
type Point struct {
	Code  string `json:"code"`            // the reason's code, as in Assessment.ReasonCodes
	Param string `json:"param,omitempty"` // the parameter's name; empty: exec's command
	Line  int    `json:"line,omitempty"`  // of that text, from 1; 0: not known
	Text  string `json:"text"`            // the words it comes from: a command of the line, a path, a value; redacted and
	// escaped by core before it is kept, at most 200 characters
	Does string `json:"does,omitempty"` // half a sentence about this very call with %s for each of Of:
	// "deletes namespace %s in context %s"
	More int      `json:"more,omitempty"` // so many further points of this code are left out
	Of   []string `json:"of,omitempty"`   // likewise redacted and escaped; what the asker chose, drawn as code
}
