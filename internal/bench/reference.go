package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// reference serves one of the references until the input closes. It prints its
// address first.
func reference(what, db string, room chat) error {
	var h http.Handler
	switch what {
	case "echo":
		h = http.HandlerFunc(echo)
	case "events":
		h = newBroadcast()
	case "desk":
		p, err := openPlain(db)
		if err != nil {
			return err
		}
		if p.chat = room; room.url != "" {
			go p.poll()
		}
		h = p
	default:
		return fmt.Errorf("there is no reference %q", what)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		srv.Close()
	}()
	fmt.Println(ln.Addr())
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// echo is net/http decoding and encoding one JSON object.
func echo(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if json.NewDecoder(r.Body).Decode(&v) == nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
}
