package connection

import (
	"io"
	"net/http"
	"time"
)

// Arriving gives a request as handlers get it: with a body that keeps the read
// deadline, which net/http has set, until it has come in whole. After that a long wait
// is not cut off. An answer before that is the connection's last one: the server does
// not wait for the rest of a refused request. most is how long its answer may take.
func Arriving(w http.ResponseWriter, r *http.Request, most time.Duration) *http.Request {
	control := http.NewResponseController(w) // recorders have no deadlines
	_ = control.SetWriteDeadline(time.Now().Add(most))
	if r.Body == nil || r.Body == http.NoBody {
		_ = control.SetReadDeadline(time.Time{})
		keepOpen(w, r)
		return r
	}
	if r.ProtoMajor == 1 { // over HTTP/2 the request ends, not its connection
		w.Header()["Connection"] = closing
	}
	in := *r // net/http looks at the body of its own
	in.Body = &arrivingBody{ReadCloser: r.Body, w: w, r: r, left: r.ContentLength}
	return &in
}

// lingerTime is how long a client may take to send the rest of a refused request.
const lingerTime = 5 * time.Second

// Left gives what has not come in of a refused request a moment, so that its client
// can read the answer.
func Left(w http.ResponseWriter, r *http.Request) {
	if !Whole(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTime))
	}
}

// arrivingBody is a request's body on its way in.
type arrivingBody struct {
	io.ReadCloser
	w     http.ResponseWriter
	r     *http.Request
	left  int64 // bytes to come; below 0: not known
	whole bool
}

// Read implements io.Reader.
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if !b.whole && (b.left == 0 || err == io.EOF) {
		b.whole = true
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
		keepOpen(b.w, b.r)
	}
	return n, err
}

// Whole reports whether a request has come in completely.
func Whole(r *http.Request) bool {
	b, ok := r.Body.(*arrivingBody)
	return !ok || b.whole
}

// keepOpen lets the connection of a request that has come in whole be used for
// another one, unless it is anonymous for too long.
func keepOpen(w http.ResponseWriter, r *http.Request) {
	if c := connOf(r); c != nil && c.lastAnswer() {
		w.Header()["Connection"] = closing
		return
	}
	w.Header().Del("Connection")
}

// Authenticated records that the sender of a request that has come in whole is
// known. Its connection is not anonymous any more, and only the usual times bound
// it from then on. If the request has not come in whole, the call has no effect.
func Authenticated(w http.ResponseWriter, r *http.Request) {
	if c := connOf(r); c != nil && Whole(r) && c.from.leave(c) {
		w.Header().Del("Connection")
	}
}

var closing = []string{"close"}
